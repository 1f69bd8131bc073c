//! Where the programs under test are, and a process that ends with its test.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, ensure};

/// A program of the workspace, beside the running test: `cargo build --workspace` makes it.
pub fn program(name: &str) -> Result<PathBuf> {
    let test = std::env::current_exe()?;
    let path = test.ancestors().nth(2).context("a test runs below the target directory")?.join(name);
    ensure!(path.exists(), "{} is not built; `make build` builds all programs", path.display());
    Ok(path)
}

/// `MILLRACE_NATS_SERVER`, `.tools/bin`, or `PATH`.
pub fn nats_server() -> PathBuf {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.tools/bin/nats-server");
    match std::env::var_os("MILLRACE_NATS_SERVER") {
        Some(path) => path.into(),
        None if tools.exists() => tools,
        None => "nats-server".into(),
    }
}

/// A running program; killed when dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
}

impl Process {
    /// Output goes to `<name>.log` in the directory.
    pub fn start(name: &str, command: &mut Command, logs: &Path) -> Result<Self> {
        let log = File::options().create(true).append(true).open(logs.join(format!("{name}.log")))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("starting {name}"))?;
        Ok(Self { name: name.to_owned(), child })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks for an orderly end and waits for it.
    pub fn stop(&mut self) -> Result<ExitStatus> {
        rustix::process::kill_process(self.pid(), rustix::process::Signal::TERM)?;
        Ok(self.child.wait()?)
    }

    pub fn wait(&mut self) -> Result<ExitStatus> {
        Ok(self.child.wait()?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Already ended is fine.
        if self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}
