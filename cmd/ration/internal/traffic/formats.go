package traffic

import "strings"

// A known format is one that lines are tried on when nobody says how they are.
type known struct {
	name, format string
	apache       bool
	loose        bool
}

const (
	common   = `%h %l %u %t "%r" %>s %b`
	combined = common + ` "%{Referer}i" "%{User-Agent}i"`

	nginxCommon   = `$remote_addr - $remote_user [$time_local] "$request" $status $bytes`
	nginxCombined = nginxCommon + ` "$http_referer" "$http_user_agent"`
)

// knownFormats are tried in this order. What a line must end with goes before what
// it may go on after, and a field that says more before one that says less: digits
// with a point are seconds of nginx, digits without are microseconds of Apache.
var knownFormats = []known{
	{name: "nginx combined, $request_time, $upstream_response_time",
		format: nginxCombined + ` $request_time $upstream_response_time`},
	{name: "nginx combined, $request_time, \"$upstream_response_time\"",
		format: nginxCombined + ` $request_time "$upstream_response_time"`},
	{name: "nginx combined, rt, uct, uht, urt",
		format: nginxCombined + ` rt=$request_time uct="$uct" uht="$uht" urt="$upstream_response_time"`},
	{name: "nginx combined, rt, uct, uht, urt without quotes",
		format: nginxCombined + ` rt=$request_time uct=$uct uht=$uht urt=$upstream_response_time`},
	{name: "nginx combined, rt, urt",
		format: nginxCombined + ` rt=$request_time urt=$upstream_response_time`},
	{name: "nginx main, $request_time, $upstream_response_time",
		format: nginxCombined + ` "$http_x_forwarded_for" $request_time $upstream_response_time`},
	{name: "nginx main, $request_time",
		format: nginxCombined + ` "$http_x_forwarded_for" $request_time`},
	{name: "nginx combined, $request_time", format: nginxCombined + ` $request_time`},
	{name: "Apache combined, %D", format: combined + ` %D`, apache: true},
	{name: "Apache common, %D", format: common + ` %D`, apache: true},
	{name: "nginx main", format: nginxCombined + ` "$http_x_forwarded_for"`},
	{name: "combined", format: combined, apache: true},
	{name: "common", format: common, apache: true},
	{name: "combined and more", format: combined + ` %x`, apache: true, loose: true},
}

func (k known) compile() *accessLog {
	compile := nginxFormat
	if k.apache {
		compile = apacheFormat
	}
	a, err := compile(k.name, k.format)
	if err != nil {
		panic(err) // a mistake in the table
	}
	a.loose = k.loose
	return a
}

// accepts reports whether a line fits, and a duration is as this kind of server
// writes it.
func (a *accessLog) accepts(line []byte, r *record) bool {
	if a.parse(line, r) != nil {
		return false
	}
	last := string(line[strings.LastIndexByte(string(line), ' ')+1:])
	switch {
	case strings.HasSuffix(a.name, "$request_time"):
		return strings.Contains(last, ".")
	case strings.HasSuffix(a.name, "%D"):
		return !strings.Contains(last, ".")
	}
	return true
}

// guessAccessLog returns the format that fits most of the lines, the first of
// several; nil when none fits any.
func guessAccessLog(sample [][]byte) *accessLog {
	var best *accessLog
	most := 0
	var r record
	for _, k := range knownFormats {
		a := k.compile()
		n := 0
		for _, line := range sample {
			if a.accepts(line, &r) {
				n++
			}
		}
		if n > most {
			best, most = a, n
		}
	}
	return best
}

// knownNames lists what was tried.
func knownNames() string {
	names := make([]string, len(knownFormats))
	for i, k := range knownFormats {
		names[i] = k.name
	}
	return strings.Join(names, "; ")
}
