package traffic

import "io"

type scrape struct{}

func (c *collector) scrape(r io.Reader) error         { return nil }
func (c *collector) finishScrapes() (*Summary, error) { return nil, nil }
