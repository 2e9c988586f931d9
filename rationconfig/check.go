package rationconfig

import (
	"errors"
	"reflect"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig/strict"
)

// Check reports what is wrong with the policy that d has at path. What one key says
// has been checked as it was read; this is about what keys say together. A policy that
// stands outside a file of policies, as this one does, has no shared budget to name.
func (p *Policy) Check(d *strict.Document, path string) {
	p.check(strict.Layers{d}, path, nil, nil)
}

func (p *Policy) check(
	l strict.Layers, path string, shared map[string]*SharedBudget, names []string,
) {
	c := &checker{files: l, path: path, policy: p.complete(), names: names}
	c.sections("", reflect.ValueOf(c.policy).Elem())
	if c.policy.Attempts != nil && *c.policy.Attempts == 1 {
		c.oneAttempt()
	}
	if b := c.policy.Breaker; b != nil && !off(b.Enabled) {
		c.breaker(b)
	}
	if c.policy.Budget.shares() {
		c.shared(c.policy.Budget, shared)
	}
	if !c.found {
		c.core(shared)
	}
}

// A checker looks at one policy, the keys of its preset included.
//
// A setting that has no effect is a fault only where somebody wrote it in vain: in the
// file that makes it so, or in a later one. That a later file switches off what an
// earlier one sets up is what files are layered for.
type checker struct {
	files  strict.Layers
	path   string
	policy *Policy
	names  []string // of the shared budgets, sorted
	found  bool
}

func (c *checker) problem(key, format string, args ...any) {
	c.found = true
	c.files.Problem(c.path+"."+key, format, args...)
}

// idle reports a setting that the key cause makes ineffective. It stays silent where
// the setting comes from an earlier file, from a preset, or with a merged mapping.
func (c *checker) idle(key, cause, format string, args ...any) {
	written := c.files.Written(c.path + "." + key)
	if written >= 0 && written >= c.files.Last(c.path+"."+cause) {
		c.problem(key, format, args...)
	}
}

// cause returns the key that decides about another: itself, or else the preset.
func (c *checker) cause(key string) string {
	if c.files.Last(c.path+"."+key) < 0 {
		return "preset"
	}
	return key
}

// sections looks for settings of sections that are switched off: whoever wrote them
// expects something of them.
func (c *checker) sections(path string, v reflect.Value) {
	for field, section := range v.Fields() {
		if section.Kind() != reflect.Pointer || section.IsNil() {
			continue
		}
		section = section.Elem()
		enabled, isSection := sectionSwitch(section)
		key := path + strict.Key(field.Name)
		switch {
		case !isSection:
		case off(enabled):
			c.switchedOff(key, section)
		default:
			c.sections(key+".", section)
		}
	}
}

func (c *checker) switchedOff(section string, v reflect.Value) {
	cause := c.cause(section + ".enabled")
	text := "has no effect beside enabled: false; remove one of them"
	if cause == "preset" {
		text = "has no effect beside preset: none; add enabled: true, or remove it"
	} else if at := c.files.Last(c.path + "." + cause); at < len(c.files)-1 {
		text = "has no effect, since " + c.files[at].File() +
			" has enabled: false; add enabled: true, or remove it"
	}
	for field, setting := range v.Fields() {
		if field.Name != "Enabled" && !setting.IsNil() {
			c.idle(section+"."+strict.Key(field.Name), cause, "%s", text)
		}
	}
}

// sectionSwitch returns the enabled of a section, and false for what is none.
func sectionSwitch(v reflect.Value) (enabled *bool, ok bool) {
	if v.Kind() != reflect.Struct {
		return nil, false
	}
	field := v.FieldByName("Enabled")
	if !field.IsValid() {
		return nil, false
	}
	return reflect.TypeAssert[*bool](field)
}

// oneAttempt looks for settings of retries that there are none of. A shared budget is
// no such setting: successes feed it.
func (c *checker) oneAttempt() {
	cause := c.cause("attempts")
	idle := func(section string, v reflect.Value) {
		for field, setting := range v.Fields() {
			if field.Name != "Enabled" && field.Name != "Shared" && !setting.IsNil() {
				c.idle(section+"."+strict.Key(field.Name), cause,
					"has no effect with one attempt; raise attempts or remove it")
			}
		}
	}
	if b := c.policy.Backoff; b != nil && !off(b.Enabled) {
		idle("backoff", reflect.ValueOf(b).Elem())
	}
	if b := c.policy.Budget; b != nil && !off(b.Enabled) {
		idle("budget", reflect.ValueOf(b).Elem())
	}
}

func (c *checker) breaker(b *Breaker) {
	if value(b.FailureRatio) > 0 {
		return
	}
	if value(b.ConsecutiveFailures) < 0 {
		c.problem("breaker.consecutiveFailures", "none needs a failureRatio, since nothing else "+
			"trips the breaker; for no breaker write enabled: false")
	}
	const text = "has no effect without a failureRatio; add one or remove it"
	if b.Window != nil {
		c.idle("breaker.window", "breaker.failureRatio", text)
	}
	if b.MinimumCalls != nil {
		c.idle("breaker.minimumCalls", "breaker.failureRatio", text)
	}
}

func (c *checker) shared(b *Budget, known map[string]*SharedBudget) {
	switch {
	case known == nil:
		c.problem("budget.shared", "names a budget, and there are none outside a file of policies")
	case len(known) == 0:
		c.problem("budget.shared", "names %q, and the file has no budgets; add it under budgets",
			*b.Shared)
	case known[*b.Shared] == nil:
		c.problem("budget.shared", "%q is none of the budgets; %s", *b.Shared,
			strict.Meant(*b.Shared, c.names))
	}
	const text = "has no effect beside shared; the numbers of a shared budget stand under budgets"
	if b.Fraction != nil {
		c.idle("budget.fraction", "budget.shared", text)
	}
	if b.MinimumPerSecond != nil {
		c.idle("budget.minimumPerSecond", "budget.shared", text)
	}
}

// core asks the core, whose word counts.
func (c *checker) core(shared map[string]*SharedBudget) {
	policy, err := c.policy.build(shared)
	if err == nil {
		policy.Unlisted = true
		_, err = ration.New(policy)
	}
	var config *ration.ConfigError
	switch {
	case err == nil:
	case errors.As(err, &config):
		for _, text := range config.Problems {
			c.files.FieldProblem(c.path, text)
		}
	default:
		c.files.Problem(c.path+".budget", "%v", err)
	}
}
