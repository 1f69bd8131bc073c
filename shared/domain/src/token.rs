//! Which attempt at which pipeline of which run: the fence of every effect.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::Uid;

/// Orders all jobs of a lane. Compared lexicographically, so the order of the fields matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Token {
    pub run: u64,
    /// Index in the plan, from 0.
    pub pipeline: u32,
    /// From 1.
    pub attempt: u32,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.run, self.pipeline, self.attempt)
    }
}

/// One attempt at one pipeline, unique for ever: `<uid>/<incarnation>/<run>/<pipeline>/<attempt>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct JobId {
    pub uid: Uid,
    /// When the stream of records was made, in seconds since 1970: run numbers of a lost stream may come again.
    pub incarnation: u64,
    #[serde(flatten)]
    pub token: Token,
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.uid, self.incarnation, self.token)
    }
}
