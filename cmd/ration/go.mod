module github.com/ration-go/ration/cmd/ration

go 1.26.0

require (
	github.com/ration-go/ration v0.0.0
	github.com/ration-go/ration/rationconfig v0.0.0
	github.com/ration-go/ration/rationgrpc v0.0.0
	github.com/rivo/uniseg v0.4.7
	github.com/schollz/progressbar/v3 v3.19.1
	golang.org/x/term v0.48.0
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
)

replace (
	github.com/ration-go/ration => ../..
	github.com/ration-go/ration/rationconfig => ../../rationconfig
	github.com/ration-go/ration/rationgrpc => ../../rationgrpc
)
