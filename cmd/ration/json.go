package main

import (
	"bytes"
	"encoding/json"

	"github.com/ration-go/ration/rationsim"
)

// json returns the result for programs. The keys up to runs are a promise; with
// several seeds, seed and runs are about the first, and more keys follow.
func (r *result) json() ([]byte, error) {
	out := object{
		{"scenario", r.scenario.Name},
		{"seed", r.seed},
		{"duration_s", r.scenario.Duration.Seconds()},
		{"runs", r.runs()},
	}
	if r.seeds() > 1 {
		var bands, separates []object
		for i, b := range r.bands {
			bands = append(bands, bandsObject(b))
			for _, other := range r.bands[i+1:] {
				separates = append(separates, separatesObject(b, other))
			}
		}
		out = append(out, member{"seeds", r.seeds()}, member{"bands", bands})
		if separates != nil {
			out = append(out, member{"separates", separates})
		}
	}
	return encode(out)
}

// bandsObject has null for a number that no run has.
func bandsObject(b *rationsim.Bands) object {
	out := object{{"name", b.Name}}
	for _, q := range quantities {
		var value any
		if band, ok := q.of(b); ok {
			value = object{{"min", band.Min}, {"median", band.Median}, {"max", band.Max}}
		}
		out = append(out, member{q.key, value})
	}
	return append(out, member{"recovered", b.Recovered})
}

func separatesObject(a, b *rationsim.Bands) object {
	out := object{{"policies", []string{a.Name, b.Name}}}
	for _, q := range quantities {
		out = append(out, member{q.key, q.separates(a, b)})
	}
	return out
}

// An object is a JSON object that keeps its order.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON implements [json.Marshaler].
func (o object) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	text.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			text.WriteByte(',')
		}
		if err := e.Encode(m.key); err != nil {
			return nil, err
		}
		text.WriteByte(':')
		if err := e.Encode(m.value); err != nil {
			return nil, err
		}
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}
