module github.com/ration-go/ration/rationconfig

go 1.26.0

require (
	github.com/fsnotify/fsnotify v1.10.1
	github.com/ration-go/ration v0.0.0
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	go.yaml.in/yaml/v3 v3.0.6
)

require (
	golang.org/x/sys v0.13.0 // indirect
	golang.org/x/text v0.14.0 // indirect
)

replace github.com/ration-go/ration => ../
