package traffic

import (
	"fmt"
	"strings"
	"time"
)

// nginxVariables are those that are read; others are skipped over.
var nginxVariables = map[string]field{
	"time_local":             {role: roleTimeLocal, layout: logTime},
	"time_iso8601":           {role: roleTimeISO},
	"msec":                   {role: roleTimeEpoch},
	"request_time":           {role: roleDuration, unit: time.Second},
	"status":                 {role: roleStatus},
	"host":                   {role: roleHost},
	"http_host":              {role: roleHost},
	"server_name":            {role: roleHost},
	"upstream_addr":          {role: roleUpstreamHost},
	"upstream_status":        {role: roleUpstreamStatus},
	"upstream_response_time": {role: roleUpstreamTime},
}

// nginxFormat compiles what stands behind log_format in a configuration of nginx.
func nginxFormat(name, format string) (*accessLog, error) {
	a := &accessLog{name: name}
	text := &a.before
	for rest := format; rest != ""; {
		i := strings.IndexByte(rest, '$')
		if i < 0 {
			*text += rest
			break
		}
		*text += rest[:i]
		var variable string
		if variable, rest = cutVariable(rest[i+1:]); variable == "" {
			return nil, fmt.Errorf("--format has a $ without a name behind it at %q", rest)
		}
		if len(a.fields) > 0 && *text == "" {
			return nil, fmt.Errorf("--format has nothing before $%s that would say where the field "+
				"before it ends", variable)
		}
		a.fields = append(a.fields, nginxVariables[variable])
		text = &a.fields[len(a.fields)-1].after
	}
	return a, a.usable("$time_local, $time_iso8601 or $msec")
}

// cutVariable takes the name of a variable off, with or without braces.
func cutVariable(text string) (name, rest string) {
	if after, ok := strings.CutPrefix(text, "{"); ok {
		name, rest, _ = strings.Cut(after, "}")
		return name, rest
	}
	i := 0
	for i < len(text) && (text[i] == '_' || text[i] >= '0' && text[i] <= '9' ||
		text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z') {
		i++
	}
	return text[:i], text[i:]
}

// usable refuses a format without a time.
func (a *accessLog) usable(times string) error {
	for _, f := range a.fields {
		if f.role >= roleTimeLocal && f.role <= roleTimeEpoch {
			return nil
		}
	}
	return fmt.Errorf("--format has no time that can be read: %s", times)
}
