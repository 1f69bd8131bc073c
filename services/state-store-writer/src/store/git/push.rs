//! What the answer to a push says (pure), as git's `--porcelain` prints it: `flag TAB from:to TAB summary`.

/// The most of a remote's words that goes into an error.
const MOST_CHARACTERS: usize = 1000;

/// How a push ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pushed {
    /// The remote said that the branch is at our commit.
    Done,
    /// The branch is not where we expected it, and nothing was sent.
    Stale,
    /// The remote turned our commit down, because of what it is or because the branch moved meanwhile. Only the
    /// branch tells which.
    TurnedDown(String),
    /// There is no answer about the branch. Only the branch tells what happened.
    Unclear(String),
}

/// Reads the answer about `reference`; `succeeded` is git's exit status 0.
pub(super) fn judge(reference: &str, succeeded: bool, stdout: &str, stderr: &str) -> Pushed {
    let Some((flag, summary)) = stdout.lines().find_map(|line| answer(line, reference)) else {
        return Pushed::Unclear(reason("", stderr));
    };
    match flag {
        " " | "*" | "=" if succeeded => Pushed::Done,
        "!" if summary.starts_with("[rejected]") => Pushed::Stale,
        "!" if summary.starts_with("[remote rejected]") => Pushed::TurnedDown(reason(summary, stderr)),
        _ => Pushed::Unclear(reason(summary, stderr)),
    }
}

fn answer<'a>(line: &'a str, reference: &str) -> Option<(&'a str, &'a str)> {
    let mut fields = line.splitn(3, '\t');
    let (flag, names, summary) = (fields.next()?, fields.next()?, fields.next()?);
    let (_, to) = names.split_once(':')?;
    (to == reference).then_some((flag, summary))
}

/// The summary, and what the remote's hooks had to say; without those all that git said. On one line.
fn reason(summary: &str, stderr: &str) -> String {
    let lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let remote: Vec<&str> =
        lines.clone().filter_map(|line| line.strip_prefix("remote:")).map(str::trim).collect();
    let said = if remote.is_empty() && summary.is_empty() { lines.collect() } else { remote };
    let parts = Some(summary).into_iter().chain(said).filter(|part| !part.is_empty());
    let text = parts.collect::<Vec<_>>().join("; ");
    let shown = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST_CHARACTERS).collect();
    if text.is_empty() { "git gave no reason".to_owned() } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: &str = "refs/heads/main";

    #[track_caller]
    fn check(line: &str, succeeded: bool, stderr: &str, expected: &Pushed) {
        let stdout = format!("To /srv/state.git\n{line}\nDone\n");
        assert_eq!(&judge(REFERENCE, succeeded, &stdout, stderr), expected, "{line:?}");
    }

    #[test]
    fn a_moved_branch_is_stale_when_git_itself_rejects() {
        for flag in [" ", "*", "="] {
            check(&format!("{flag}\tc0ffee:refs/heads/main\tc0..ff"), true, "", &Pushed::Done);
        }
        check("!\tc0ffee:refs/heads/main\t[rejected] (stale info)", false, "", &Pushed::Stale);
        check("!\tc0ffee:refs/heads/main\t[rejected] (fetch first)", false, "", &Pushed::Stale);
    }

    #[test]
    fn the_remotes_no_comes_with_its_hooks_words() {
        let stderr =
            "remote: no pushes on Friday        \nremote: \x1b[1mask Ada\nerror: failed to push some refs\n";
        let text = "[remote rejected] (pre-receive hook declined); no pushes on Friday;  [1mask Ada";
        let line = "!\tc0ffee:refs/heads/main\t[remote rejected] (pre-receive hook declined)";
        check(line, false, stderr, &Pushed::TurnedDown(text.to_owned()));
    }

    #[test]
    fn no_line_about_the_branch_is_unclear() {
        let unclear = |text: &str| Pushed::Unclear(text.to_owned());
        check(
            "",
            false,
            "fatal: could not read\n\nfrom remote\n",
            &unclear("fatal: could not read; from remote"),
        );
        check("", true, "", &unclear("git gave no reason"));
        check(" \tc0ffee:refs/heads/main2\tc0..ff", true, "", &unclear("git gave no reason"));
        check(
            "+\tc0ffee:refs/heads/main\tc0...ff (forced update)",
            true,
            "",
            &unclear("c0...ff (forced update)"),
        );
        check(" \tc0ffee:refs/heads/main\tc0..ff", false, "", &unclear("c0..ff"));
    }
}
