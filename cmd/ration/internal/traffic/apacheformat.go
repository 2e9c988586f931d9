package traffic

import (
	"fmt"
	"strings"
	"time"
)

// apacheFormat compiles a LogFormat of Apache. Quotes may be escaped, as they are in
// a configuration, or not.
func apacheFormat(name, format string) (*accessLog, error) {
	a := &accessLog{name: name, start: true}
	text := &a.before
	rest := strings.NewReplacer(
		`\"`, `"`, `\t`, "\t", `\\`, `\`,
		// A second and its fraction are one number.
		`%{sec}t.%{msec_frac}t`, `%{sec}t`, `%{sec}t.%{usec_frac}t`, `%{sec}t`,
	).Replace(format)
	for rest != "" {
		i := strings.IndexByte(rest, '%')
		if i < 0 {
			*text += rest
			break
		}
		*text += rest[:i]
		var d apacheDirective
		var err error
		if d, rest, err = cutDirective(rest[i+1:]); err != nil {
			return nil, err
		}
		if d.letter == "%" {
			*text += "%"
			continue
		}
		if len(a.fields) > 0 && *text == "" {
			return nil, fmt.Errorf("--format has nothing before %%%s that would say where the field "+
				"before it ends", d.letter)
		}
		f, end, err := d.field()
		if err != nil {
			return nil, err
		}
		a.start = a.start && !end
		if d.bracketed() {
			*text += "["
			f.after = "]"
		}
		a.fields = append(a.fields, f)
		text = &a.fields[len(a.fields)-1].after
	}
	return a, a.usable("%t, or %{sec}t, %{msec}t, %{usec}t")
}

// An apacheDirective is what follows a percent sign: %{argument}letter.
type apacheDirective struct {
	letter   string // of two characters with a ^
	argument string
}

func cutDirective(text string) (d apacheDirective, rest string, err error) {
	// Conditions such as !200,304 and the < and > of internal redirects.
	rest = strings.TrimLeft(text, "!0123456789,<>")
	if after, ok := strings.CutPrefix(rest, "{"); ok {
		if d.argument, rest, ok = strings.Cut(after, "}"); !ok {
			return d, "", fmt.Errorf("--format has a %%{ without a }: %q", text)
		}
		rest = strings.TrimLeft(rest, "<>")
	}
	n := 1
	if strings.HasPrefix(rest, "^") {
		n = 3
	}
	if len(rest) < n {
		return d, "", fmt.Errorf("--format ends within a directive: %%%s", text)
	}
	d.letter = rest[:n]
	return d, rest[n:], nil
}

// bracketed reports whether the value has brackets around it, of its own.
func (d apacheDirective) bracketed() bool { return d.letter == "t" && d.argument == "" }

// field returns what the directive is good for, and whether it is a time at the end
// of the request.
func (d apacheDirective) field() (f field, end bool, err error) {
	switch d.letter {
	case "t":
		return d.time()
	case "s":
		f.role = roleStatus
	case "v", "V":
		f.role = roleHost
	case "i":
		if strings.EqualFold(d.argument, "host") {
			f.role = roleHost
		}
	case "D":
		f = field{role: roleDuration, unit: time.Microsecond}
	case "T":
		f = field{role: roleDuration, unit: time.Second}
		switch d.argument {
		case "ms":
			f.unit = time.Millisecond
		case "us":
			f.unit = time.Microsecond
		}
	}
	return f, false, nil
}

// time returns the field of a %t.
func (d apacheDirective) time() (f field, end bool, err error) {
	form, end := strings.CutPrefix(d.argument, "end:")
	form = strings.TrimPrefix(form, "begin:")
	switch form {
	case "":
		return field{role: roleTimeLocal, layout: logTime}, end, nil
	case "sec", "msec", "usec":
		return field{role: roleTimeEpoch}, end, nil
	case "msec_frac", "usec_frac":
		return field{}, end, nil
	}
	layout, err := strftime(form)
	return field{role: roleTimeLocal, layout: layout}, end, err
}

// strftime translates a form of time as C has it.
func strftime(form string) (layout string, err error) {
	forms := map[byte]string{
		'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'z': "-0700", 'Z': "MST",
		'b': "Jan", 'h': "Jan", 'B': "January", 'e': "_2", 'y': "06", 'a': "Mon", 'A': "Monday",
		'F': "2006-01-02", 'T': "15:04:05", 'D': "01/02/06", 'I': "03", 'p': "PM", 'R': "15:04",
		'%': "%", 'n': "\n", 't': "\t", 'j': "002",
	}
	var b strings.Builder
	for i := 0; i < len(form); i++ {
		if form[i] != '%' || i+1 == len(form) {
			b.WriteByte(form[i])
			continue
		}
		i++
		text, ok := forms[form[i]]
		if !ok {
			return "", fmt.Errorf("--format has %%%c in a time, which is not understood", form[i])
		}
		b.WriteString(text)
	}
	return b.String(), nil
}
