package traffic

import "io"

type traces struct{}

func (c *collector) spans(r io.Reader) error        { return nil }
func (c *collector) finishSpans() (*Summary, error) { return nil, nil }
