//! Between this program and the server: a re-execution that makes sure that the server does not outlive its parent.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// First argument of a program that is to become a NATS server.
const BECOME: &str = "__nats-server";

/// `program` with a configuration, as a child of the thread that spawns it.
pub(super) fn command(program: &Path, config: &Path) -> Command {
    let mut command = Command::new("/proc/self/exe");
    let parent = std::process::id().to_string();
    command.arg(BECOME).arg(parent).arg(program).arg("-c").arg(config);
    // The log is where the configuration says; what comes before it is lost only when that cannot be read.
    command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command
}

/// Becomes a NATS server, and never returns, if the program was started as one.
///
/// Called first thing in `main`.
pub fn exec_if_asked() {
    let mut args = std::env::args_os();
    if args.nth(1).is_none_or(|word| word != BECOME) {
        return;
    }
    let parent = args.next().and_then(|pid| Pid::from_raw(pid.to_str()?.parse().ok()?));
    let Some(program) = args.next() else { std::process::exit(2) };
    let error = become_server(parent, Command::new(program).args(args));
    // Nobody reads it but the exit code is shown.
    std::process::exit(error.raw_os_error().unwrap_or(1))
}

/// Returns only if it fails.
fn become_server(parent: Option<Pid>, command: &mut Command) -> io::Error {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return error.into();
    }
    if parent != getppid() {
        return io::Error::other("the parent is gone already");
    }
    command.exec()
}
