# Short names for what CONTRIBUTING.md explains.

.PHONY: test race lint bench ci

test:
	go test work

race lint:
	.ci/run $@

bench:
	go test -run '^$$' -bench . -benchmem work

ci:
	.ci/run
