//! The job-runner as a process of its own.

use job_runner::process::{Isolation, supervise_if_asked};
use job_runner::{Options, run};

fn main() -> std::process::ExitCode {
    supervise_if_asked();
    runtime::service::main("job-runner", |platform, config, shutdown| {
        let slots = config.slots.unwrap_or_else(job_runner::default_slots);
        let state = config.state.unwrap_or_else(|| ".millrace/job-runner".into());
        run(
            platform,
            Options { slots, images: config.images, state, isolation: Isolation::Namespaces },
            shutdown,
        )
    })
}
