# The index of verbs. What they do is in tools/.

.PHONY: help tools tools-nats build run test bench lint fmt deny ci clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile
tools: tools-nats ## Get the servers that are needed into .tools/ (3 s, once)
tools-nats: ## Get nats-server
	@tools/nats-server.sh
build: ## Build all programs: millrace, and each service by itself
	@tools/build.sh
run: tools build ## Run everything with examples/quickstart until Ctrl-C; ARGS='--until-settled' are options of `up`
	@tools/run.sh $(ARGS)
test: tools lint ## All checks: lint, then every test; ARGS='-p domain' are arguments of `cargo test`
	@tools/test.sh $(ARGS)
bench: tools ## Time the main job on the real programs in release mode (minutes); see docs/benchmarks.md
	@tools/bench.sh $(ARGS)
lint: ## Format, clippy and shell scripts, without changing anything
	@tools/lint.sh
fmt: ## Format the code
	@cargo fmt --all
deny: ## Licences, advisories and sources of dependencies
	@tools/deny.sh
ci: ## What CI runs: `make test` with a build directory outside of the clone
	@.ci/run
clean: ## Remove what was built and linked; caches outside of the clone and .millrace/ stay
	@cargo clean && rm -rf .tools
