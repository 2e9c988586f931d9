// Package examples shows rationhttp together with modules that it does not
// need. It is nothing but tests, in a module of its own so that nobody else
// needs them.
package examples
