package main

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig"
	"github.com/ration-go/ration/rationconfig/strict"
)

// flatten lists what is set in a struct of a file's keys, each as its path and its
// value in the words of the file. Keys that only name something are left out.
func flatten(path string, settings any) (list []string) {
	v := reflect.Indirect(reflect.ValueOf(settings))
	for _, f := range reflect.VisibleFields(v.Type()) {
		switch f.Name {
		case "Edge", "Entry", "Service":
			continue
		}
		value := v.FieldByIndex(f.Index)
		if f.Anonymous || value.IsNil() {
			continue
		}
		key := path + strict.Key(f.Name)
		switch {
		case value.Kind() == reflect.Slice:
			list = append(list, key+" "+flattenList(value))
		case isSection(value):
			if inner := flatten(key+".", value.Interface()); inner != nil {
				list = append(list, inner...)
			} else {
				list = append(list, key)
			}
		default:
			list = append(list, key+" "+spelled(value.Elem().Interface()))
		}
	}
	return list
}

func isSection(v reflect.Value) bool {
	_, scalar := reflect.TypeAssert[strict.Scalar](v)
	return v.Elem().Kind() == reflect.Struct && !scalar
}

func flattenList(list reflect.Value) string {
	if list.Len() == 0 {
		return "none"
	}
	var items []string
	for i := range list.Len() {
		items = append(items, "{"+strings.Join(flatten("", list.Index(i).Interface()), ", ")+"}")
	}
	return strings.Join(items, ", ")
}

// spelled shows a value as the file would have it.
func spelled(value any) string {
	switch x := value.(type) {
	case strict.Duration:
		return short(time.Duration(x))
	case strict.Limit:
		if x.None {
			return "none"
		}
		return short(x.Duration)
	case strict.Share:
		return decimal(100*float64(x)) + "%"
	case float64:
		return decimal(x)
	case rationconfig.Trip:
		if x < 0 {
			return "none"
		}
	case rationconfig.Jitter:
		return [...]string{
			ration.FullJitter: "full", ration.EqualJitter: "equal", ration.NoJitter: "none",
		}[x]
	}
	return fmt.Sprint(value)
}
