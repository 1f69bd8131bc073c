//! A laptop: the one program `millrace` with a directory of manifests and a state directory.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::programs::{Process, nats_server, program};
use crate::{LIMIT, Repository, Signals};

pub struct Laptop {
    pub signals: Signals,
    pub repository: Repository,
    pub directory: TempDir,
}

impl Laptop {
    pub fn new() -> Result<Self> {
        let mut directory = tempfile::Builder::new().prefix("millrace-laptop-").tempdir()?;
        directory.disable_cleanup(std::env::var_os("MILLRACE_TEST_KEEP").is_some());
        std::fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let signals = Signals::new(&directory.path().join("scripts"))?;
        std::fs::create_dir(directory.path().join("manifests"))?;
        let repository = Repository(directory.path().join("repository.git"));
        Ok(Self { signals, repository, directory })
    }

    pub fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    pub fn manifests(&self) -> PathBuf {
        self.directory.path().join("manifests")
    }

    /// Writes one file of manifests; several documents are one file.
    pub fn write(&self, file: &str, documents: &[Value]) -> Result<()> {
        let text: Vec<String> = documents.iter().map(serde_saphyr::to_string).collect::<Result<_, _>>()?;
        // As an editor saves: never half a file.
        let path = self.manifests().join(file);
        let new = self.directory.path().join("new");
        std::fs::write(&new, text.join("---\n"))?;
        Ok(std::fs::rename(new, path)?)
    }

    pub fn remove(&self, file: &str) -> Result<()> {
        Ok(std::fs::remove_file(self.manifests().join(file))?)
    }

    fn command(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(program("millrace")?);
        command.args(arguments).arg("--state").arg(self.state()).current_dir(self.directory.path());
        command.env("MILLRACE_NATS_SERVER", nats_server());
        Ok(command)
    }

    fn up_command(&self, image: &str, more: &[&str]) -> Result<Command> {
        let mut command = self.command(&["up", "manifests"])?;
        command
            .args(more)
            .arg("--image")
            .arg(format!("{image}=scripts:{}", self.signals.directory().display()));
        Ok(command)
    }

    /// `up`, serving.
    pub fn up(&self) -> Result<Process> {
        Process::start("up", &mut self.up_command("registry.test/*", &[])?, self.directory.path())
    }

    /// `up --until-settled`: exit code and output.
    pub fn settle(&self) -> Result<(i32, String)> {
        self.settle_with("registry.test/*")
    }

    pub fn settle_with(&self, image: &str) -> Result<(i32, String)> {
        let output = self.up_command(image, &["--until-settled", "--timeout", "60s"])?.output()?;
        Ok((output.status.code().context("up was ended by a signal")?, text(&output)))
    }

    /// Settles, or says why it does not.
    pub fn settled(&self) -> Result<()> {
        let (code, text) = self.settle()?;
        ensure!(code == 0, "exit code {code}: {text}");
        Ok(())
    }

    /// Another command of `millrace`.
    pub fn run(&self, arguments: &[&str]) -> Result<Output> {
        Ok(self.command(arguments)?.output()?)
    }

    /// Its output; an error when it fails.
    pub fn say(&self, arguments: &[&str]) -> Result<String> {
        let output = self.run(arguments)?;
        ensure!(output.status.success(), "{arguments:?}: {}", text(&output));
        Ok(String::from_utf8(output.stdout)?)
    }

    pub fn object(&self, kind: &str, name: &str) -> Result<Value> {
        Ok(serde_json::from_str(&self.say(&["get", kind, name, "-o", "json"])?)?)
    }

    /// Repeats a look until it finds what it looks for: the only way to wait for another program's effect on files.
    pub fn until(&self, what: &str, holds: impl Fn(&Self) -> Result<bool>) -> Result<()> {
        let deadline = Instant::now() + LIMIT;
        while !holds(self)? {
            if Instant::now() > deadline {
                bail!("not {what} within {LIMIT:?}; files: {:?}", self.repository.files()?);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Processes of this laptop that still live.
    pub fn processes(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc")?.flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            if is_of(pid, self.directory.path()) && pid != std::process::id() {
                let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                found.push(format!("{pid}: {}", String::from_utf8_lossy(&line).replace('\0', " ")));
            }
        }
        Ok(found)
    }
}

/// Whether a process was started for the directory, or works in it.
fn is_of(pid: u32, directory: &Path) -> bool {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let named = directory.as_os_str().to_string_lossy().into_owned();
    let says = |file: &str| {
        std::fs::read(process.join(file)).is_ok_and(|text| String::from_utf8_lossy(&text).contains(&named))
    };
    let stands = std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(directory));
    let zombie = std::fs::read_to_string(process.join("stat")).is_ok_and(|stat| stat.contains(") Z "));
    !zombie && (stands || says("cmdline") || says("mountinfo"))
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
