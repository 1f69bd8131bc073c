//! Reading a bare repository with `git`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

/// A repository on this machine.
#[derive(Clone, Debug)]
pub struct Repository(pub PathBuf);

impl Repository {
    pub fn url(&self) -> String {
        format!("file://{}", self.0.display())
    }

    pub fn git(&self, arguments: &[&str]) -> Result<String> {
        let output = Command::new("git").arg("--git-dir").arg(&self.0).args(arguments).output()?;
        ensure!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Paths on `main`, the canary documents left out.
    pub fn files(&self) -> Result<Vec<String>> {
        if !self.0.join("refs/heads/main").exists() {
            return Ok(Vec::new());
        }
        let list = self.git(&["ls-tree", "-r", "-z", "--name-only", "main"])?;
        let paths = list.split('\0').filter(|path| !path.is_empty() && !path.contains("kratix-canary"));
        Ok(paths.map(Into::into).collect())
    }

    /// Contents on `main`, by path.
    pub fn contents(&self) -> Result<BTreeMap<String, String>> {
        self.files()?.into_iter().map(|path| Ok((path.clone(), self.read(&path)?))).collect()
    }

    pub fn read(&self, path: &str) -> Result<String> {
        self.git(&["show", &format!("main:{path}")])
    }

    pub fn commits(&self) -> Result<usize> {
        Ok(self.git(&["rev-list", "--count", "main"])?.trim().parse()?)
    }

    pub fn tip(&self) -> Result<String> {
        Ok(self.git(&["rev-parse", "main"])?.trim().to_owned())
    }

    pub fn subjects(&self) -> Result<Vec<String>> {
        Ok(self.git(&["log", "--format=%s", "main"])?.lines().map(Into::into).collect())
    }

    /// Commits a file as somebody else would: from a clone, over a push.
    pub fn commit_as_other(&self, scratch: &Path, path: &str, content: &str) -> Result<()> {
        let clone = scratch.join(uuid::Uuid::new_v4().to_string());
        let run = |directory: &Path, arguments: &[&str]| {
            let identity = ["-c", "user.name=other", "-c", "user.email=other@example.com"];
            let output =
                Command::new("git").current_dir(directory).args(identity).args(arguments).output()?;
            ensure!(
                output.status.success(),
                "git {arguments:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            Ok(())
        };
        run(scratch, &["clone", "--quiet", &self.url(), &clone.display().to_string()])?;
        let file = clone.join(path);
        std::fs::create_dir_all(file.parent().unwrap_or(&clone))?;
        std::fs::write(file, content)?;
        run(&clone, &["add", "-A"])?;
        run(&clone, &["commit", "--quiet", "-m", "somebody else's"])?;
        run(&clone, &["push", "--quiet", "origin", "HEAD:main"])
    }
}
