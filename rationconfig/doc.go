// Package rationconfig has the keys under which a [ration.Policy] stands in a file.
// They are its fields, spelled as keys are, so that there is one vocabulary for code
// and configuration; what code must spell with a sentinel, a file switches off with
// enabled: false.
package rationconfig
