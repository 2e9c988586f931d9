package rationconfig

import (
	"errors"
	"reflect"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig/strict"
)

// Check reports what is wrong with the policy that d has at path. What one key says
// has been checked as it was read; this is about what keys say together.
func (p *Policy) Check(d *strict.Document, path string) {
	found := false
	problem := func(key, format string, args ...any) {
		found = true
		d.Problem(path+"."+key, format, args...)
	}
	checkIdle("", reflect.ValueOf(p).Elem(), problem)
	if b := p.Breaker; b != nil && !off(b.Enabled) {
		b.check(problem)
	}
	if !found {
		p.checkCore(d, path)
	}
}

type report func(key, format string, args ...any)

// checkIdle reports settings of a section that is switched off: whoever wrote them
// expects something of them.
func checkIdle(path string, v reflect.Value, problem report) {
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
			reportIdle(key, section, problem)
		default:
			checkIdle(key+".", section, problem)
		}
	}
}

func reportIdle(path string, section reflect.Value, problem report) {
	for field, setting := range section.Fields() {
		if field.Name != "Enabled" && !setting.IsNil() {
			problem(path+"."+strict.Key(field.Name),
				"has no effect beside enabled: false; remove one of them")
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

func (b *Breaker) check(problem report) {
	if value(b.FailureRatio) > 0 {
		return
	}
	if value(b.ConsecutiveFailures) < 0 {
		problem("breaker.consecutiveFailures", "none needs a failureRatio, since nothing else "+
			"trips the breaker; for no breaker write enabled: false")
	}
	if b.Window != nil {
		problem("breaker.window", "has no effect without a failureRatio; add one or remove it")
	}
	if b.MinimumCalls != nil {
		problem("breaker.minimumCalls", "has no effect without a failureRatio; add one or remove it")
	}
}

// checkCore asks the core, whose word counts.
func (p *Policy) checkCore(d *strict.Document, path string) {
	policy, err := p.Build()
	if err == nil {
		_, err = ration.New(policy)
	}
	var config *ration.ConfigError
	switch {
	case err == nil:
	case errors.As(err, &config):
		for _, text := range config.Problems {
			d.FieldProblem(path, text)
		}
	default:
		d.Problem(path+".budget", "%v", err)
	}
}
