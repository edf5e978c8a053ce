# The commands of this project, for people who like `make`. CI runs .ci/run, which needs no make.

.PHONY: run mpi test slow lint race bench ci release

run: ## train a private model on pictures that the program draws
	go run ./cmd/train run

mpi: ## build train-mpi, which an MPI launcher starts as the ranks of one run
	CGO_ENABLED=0 go build -tags mpi -o train-mpi ./cmd/train

test: ## all tests
	go test ./...

slow: ## all tests, with the evidence that takes long
	DPSGD_SLOW=1 go test -timeout 60m ./...

lint: ## format, vet, staticcheck
	test -z "$$(gofmt -l .)"
	go vet ./...
	staticcheck ./...

race: ## the race detector on the packages with goroutines
	go test -race -short ./accountant ./data ./clip ./release ./internal/... ./perexample ./optimizer ./checkpoints ./cmd/train

bench: ## private and plain steps of a network, and the kernels
	go run ./cmd/train bench
	go run ./cmd/train bench --mode plain
	go test ./internal/kernel ./internal/noise ./internal/random -run '^$$' -bench .

ci: ## what a change must pass
	bash .ci/run

release: ## archives, wheels, Debian packages and a Homebrew formula of the commit, in the folder dist
	go run ./cmd/dist
