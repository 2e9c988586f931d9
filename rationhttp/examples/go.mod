module github.com/ration-go/ration/rationhttp/examples

go 1.26.0

require (
	github.com/ration-go/ration v0.0.0
	golang.org/x/time v0.16.0
)

replace github.com/ration-go/ration => ../../
