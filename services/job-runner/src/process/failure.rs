//! Why a job could not be set up; its text is the outcome [`super::Outcome::Refused`].

use std::fmt::Display;
use std::io;

#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("{what}: {cause}")]
    System { what: String, cause: io::Error },
    #[error(
        "user namespaces are not available ({0}): allow them (sysctl user.max_user_namespaces, \
         kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; in a container, a seccomp \
         profile that permits them), or choose --isolation none"
    )]
    NoUserNamespaces(io::Error),
    #[error(
        "a new /proc cannot be mounted ({0}): parts of the present one are masked, as in most containers; unmask it \
         (podman --security-opt unmask=ALL, docker --security-opt systempaths=unconfined), or choose --isolation none"
    )]
    MaskedProc(io::Error),
    #[error("{0}")]
    Image(#[from] crate::images::Error),
    #[error("{0}")]
    Invalid(String),
}

/// Says what was being done when a call failed.
pub(super) fn at<T, E: Into<io::Error>>(what: impl Display, result: Result<T, E>) -> Result<T, Failure> {
    result.map_err(|e| Failure::System { what: what.to_string(), cause: e.into() })
}
