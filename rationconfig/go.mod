module github.com/ration-go/ration/rationconfig

go 1.26.0

require (
	github.com/fsnotify/fsnotify v1.10.1
	github.com/ration-go/ration v0.0.0
	go.yaml.in/yaml/v3 v3.0.6
)

require golang.org/x/sys v0.13.0 // indirect

replace github.com/ration-go/ration => ../
