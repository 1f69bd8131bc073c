//! `millrace version`: of this program, and of the NATS server that `up` would run.

use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::nats_child;

pub(crate) fn run(console: &Console) -> Result<Exit, Failure> {
    let server = match nats_child::find() {
        Ok(found) => format!("{} ({})", found.version, found.program.display()),
        Err(error) => error.to_string(),
    };
    console.print(&format!("millrace {}\nnats-server {server}\n", env!("CARGO_PKG_VERSION")))?;
    Ok(Exit::Done)
}
