//! `millrace completion`: scripts for shells.

use clap::{Args as ClapArgs, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "millrace", &mut script);
    console.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
