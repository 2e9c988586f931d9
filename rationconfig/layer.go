package rationconfig

import "reflect"

// Over returns what p says and, where it is silent, what earlier says, key by key. A
// p with a preset starts afresh, and a nil earlier says nothing. Both stay as they are.
func (p *Policy) Over(earlier *Policy) *Policy {
	if earlier == nil || p.Preset != nil {
		return p
	}
	merged := *earlier
	merged.Budget = earlier.Budget.besides(p.Budget)
	lay(reflect.ValueOf(&merged).Elem(), reflect.ValueOf(p).Elem())
	return &merged
}

// besides returns what is left of b when a later file says later. A bucket is shared
// or has numbers of its own, so that either takes back the other.
func (b *Budget) besides(later *Budget) *Budget {
	if b == nil || later == nil {
		return b
	}
	left := *b
	if later.Shared != nil {
		left.Fraction, left.MinimumPerSecond = nil, nil
	} else if later.Fraction != nil || later.MinimumPerSecond != nil {
		left.Shared = nil
	}
	return &left
}

// over does for the numbers of a shared bucket what it does for a policy.
func (b *SharedBudget) over(earlier *SharedBudget) *SharedBudget {
	if earlier == nil {
		return b
	}
	merged := *earlier
	lay(reflect.ValueOf(&merged).Elem(), reflect.ValueOf(b).Elem())
	return &merged
}

// complete returns p with what its preset says where it is silent.
func (p *Policy) complete() *Policy {
	if p.Preset == nil {
		return p
	}
	merged := *p.Preset.policy()
	lay(reflect.ValueOf(&merged).Elem(), reflect.ValueOf(p).Elem())
	return &merged
}

// lay copies the keys that top has onto a struct, and goes into sections that both
// have. Sections are copied before they change, since others may hold them.
func lay(onto, top reflect.Value) {
	for field, value := range top.Fields() {
		target := onto.FieldByIndex(field.Index)
		if value.IsNil() {
			continue
		}
		if _, isSection := sectionSwitch(value.Elem()); !isSection || target.IsNil() {
			target.Set(value)
			continue
		}
		section := reflect.New(value.Type().Elem())
		section.Elem().Set(target.Elem())
		target.Set(section)
		lay(section.Elem(), value.Elem())
	}
}
