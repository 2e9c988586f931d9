# Short names for what CONTRIBUTING.md explains.

.PHONY: test race lint bench ci

test:
	go test work

race lint:
	.ci/run $@

bench:
	go run ./bench/cmd/performance

ci:
	.ci/run
