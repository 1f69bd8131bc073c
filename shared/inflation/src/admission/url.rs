//! URLs of repositories: which are written to, which are refused. Credentials in them are never repeated.

use domain::problem::Problem;

/// How a repository is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// `file:///absolute`.
    File,
    /// `https`, or ssh in either of its forms.
    Remote,
}

/// Errors: why the URL of `spec.url` is refused.
pub(crate) fn access(url: &str) -> Result<Access, Problem> {
    if url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(refused("holds blanks or control characters"));
    }
    if has_credentials(url) {
        return Err(
            refused("holds credentials").help("put them into a Secret and name it in `spec.secretRef`")
        );
    }
    if let Some(path) = url.strip_prefix("file:") {
        return file(path);
    }
    match url.split_once("://").map(|(scheme, rest)| (scheme.to_lowercase(), rest)) {
        Some((_, "")) => Err(refused("names no repository")),
        Some((scheme, _)) => {
            match &*scheme {
                "https" | "ssh" | "git+ssh" => Ok(Access::Remote),
                "http" | "git" => Err(refused(format!("`{scheme}:` is neither encrypted nor authenticated"))
                    .help("use `https:`")),
                _ => Err(refused(format!("`{scheme}:` is not a scheme for repositories")).help(KNOWN)),
            }
        }
        None if is_ssh_short(url) => Ok(Access::Remote),
        None => Err(refused("is not the URL of a repository").help(KNOWN)),
    }
}

const KNOWN: &str = "use `file:///`, `https://` or `ssh://`";

fn refused(message: impl Into<String>) -> Problem {
    Problem::error("invalid", "spec.url", message)
}

fn file(path: &str) -> Result<Access, Problem> {
    let Some(path) = path.strip_prefix("//") else {
        return Err(refused("a relative `file:` URL has a meaning only beside its manifest")
            .help("write `file:///` and the whole path"));
    };
    if !path.starts_with('/') {
        return Err(
            refused("`file://` is followed by an absolute path").help("write `file:///` and the whole path")
        );
    }
    if path.trim_matches('/').is_empty() || path.split('/').any(|name| matches!(name, "." | "..")) {
        return Err(refused("is not the path of a repository"));
    }
    Ok(Access::File)
}

/// `user@host:path`.
fn is_ssh_short(url: &str) -> bool {
    url.split_once('@').is_some_and(|(user, rest)| {
        !user.is_empty()
            && !user.contains('/')
            && rest
                .split_once(':')
                .is_some_and(|(host, path)| !(host.is_empty() || host.contains('/') || path.is_empty()))
    })
}

/// A user name belongs to ssh; anywhere else, and with a password, it is a credential.
fn has_credentials(url: &str) -> bool {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_ssh = scheme.is_empty() || scheme.to_lowercase().ends_with("ssh");
    authority.rsplit_once('@').is_some_and(|(user, _)| !is_ssh || user.contains(':'))
}

/// The URL as the name of a place: spelled differently, it is the same.
pub(crate) fn repository(url: &str) -> &str {
    url.trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_sorted() {
        for url in ["file:///srv/repo", "file:///srv/repo.git/"] {
            assert_eq!(access(url), Ok(Access::File), "{url}");
        }
        for url in [
            "https://example.org/a.git",
            "HTTPS://example.org/a",
            "ssh://git@example.org:22/a",
            "git@example.org:a/b",
        ] {
            assert_eq!(access(url), Ok(Access::Remote), "{url}");
        }
        for url in [
            "",
            "repo",
            "/srv/repo",
            "file:./a",
            "file:a",
            "file:/a",
            "file://host/a",
            "file:///",
            "file:///a/../b",
            "http://a/b",
            "git://a/b",
            "ftp://a/b",
            "https://",
            "https://a b",
            "ext::sh -c x",
            "--upload-pack=x",
            "@h:p",
            "git@:p",
        ] {
            assert!(access(url).is_err(), "{url}");
        }
    }

    #[test]
    fn credentials_are_not_repeated() {
        for url in [
            "https://user:hunter2@example.org/a",
            "https://hunter2@example.org/a",
            "http://a:hunter2@example.org",
            "ssh://git:hunter2@example.org/a",
            "git:hunter2@example.org:a",
            "file://a:hunter2@host/b",
        ] {
            let refusal = access(url).unwrap_err();
            assert_eq!(refusal.message, "holds credentials", "{url}");
            assert!(!format!("{refusal:?}").contains("hunter2"), "{url}");
        }
    }
}
