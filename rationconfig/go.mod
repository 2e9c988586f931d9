module github.com/ration-go/ration/rationconfig

go 1.26.0

require (
	github.com/ration-go/ration v0.0.0
	go.yaml.in/yaml/v3 v3.0.6
)

replace github.com/ration-go/ration => ../
