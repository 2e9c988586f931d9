package traffic

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// peek returns the beginning of what a reader has, and a reader that has it still.
func peek(r io.Reader) (sample []byte, all io.Reader, err error) {
	b := bufio.NewReaderSize(r, sampleSize)
	sample, err = b.Peek(sampleSize)
	if len(sample) == 0 && err != nil {
		return nil, nil, err
	}
	return bytes.Clone(sample), b, nil
}

// isBroken reports whether an error is that of a file that was not written to its end.
func isBroken(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) ||
		errors.Is(err, gzip.ErrHeader) || errors.As(err, &corrupt)
}

// guessInput says what a file looks like by its beginning.
func guessInput(sample []byte) string {
	text := bytes.TrimLeft(sample, " \t\r\n\x00\ufeff")
	switch {
	case bytes.HasPrefix(bytes.TrimLeft(text, "[ \r\n\t"), []byte("{")):
		if bytes.Contains(sample, []byte(`"resourceSpans"`)) ||
			bytes.Contains(sample, []byte(`"resource_spans"`)) {
			return "otlp"
		}
		return "json"
	case bytes.Contains(sample, []byte(`_bucket{`)) && bytes.Contains(sample, []byte(`le="`)),
		bytes.HasPrefix(text, []byte("# HELP ")), bytes.HasPrefix(text, []byte("# TYPE ")):
		return "prometheus"
	}
	return "access log"
}

// sampleLines returns the first whole lines of a sample, or all there is.
func sampleLines(sample []byte) (lines [][]byte) {
	const most = 200
	for len(sample) > 0 && len(lines) < most {
		line, rest, whole := bytes.Cut(sample, []byte("\n"))
		if !whole && len(lines) > 0 && len(sample) < sampleSize {
			whole = true
		}
		if line = bytes.TrimLeft(trimEnd(line), "\x00"); len(line) > 0 && (whole || len(lines) == 0) {
			lines = append(lines, line)
		}
		sample = rest
	}
	return lines
}

// reader returns what reads the lines of an input.
func (o *Options) reader(input string, sample []byte) (reader, error) {
	switch {
	case input == "json":
		return newJSONLines(o), nil
	case o.Format != "" && input == "apache" || o.Format != "" && hasPercent(o.Format):
		return accessReader(apacheFormat("the given LogFormat", o.Format))
	case o.Format != "":
		return accessReader(nginxFormat("the given log_format", o.Format))
	}
	a := guessAccessLog(sampleLines(sample))
	if a == nil {
		return nil, fmt.Errorf("the first lines are in no format that is known, so that nothing was "+
			"read; tried JSON, OTLP, Prometheus, and access logs: %s; say --format with the log_format or "+
			"LogFormat of the server", knownNames())
	}
	return a, nil
}

// hasPercent tells a LogFormat of Apache from a log_format of nginx.
func hasPercent(format string) bool {
	return bytes.Contains([]byte(format), []byte("%t")) || bytes.Contains([]byte(format), []byte("}t"))
}

func accessReader(a *accessLog, err error) (reader, error) {
	if err != nil {
		return nil, err
	}
	return a, nil
}
