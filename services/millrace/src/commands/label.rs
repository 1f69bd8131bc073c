//! `millrace label`: sets labels of an object, or removes them.

use std::collections::BTreeMap;

use clap::Args as ClapArgs;
use domain::id::ObjectKey;
use messages::admit::{AdmitAnswer, AdmitRequest, Change};

use super::kinds;
use crate::admission::Admission;
use crate::complaint::{Complaint, Subject};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::kinds::Kind;
use crate::session::{Session, Target};
use crate::targets::{Scope, one};

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// KIND NAME or KIND/NAME, then LABEL=VALUE to set or LABEL- to remove
    #[arg(required = true, num_args = 2.., value_name = "WHAT")]
    words: Vec<String>,
    /// Namespace [default: default]
    #[arg(short, long, value_name = "NS")]
    namespace: Option<String>,
}

type Labels = BTreeMap<String, Option<String>>;

pub(crate) async fn run(args: Args, target: &Target, console: &Console) -> Result<Exit, Failure> {
    let (what, labels) = split(&args.words)?;
    let session = Session::serving(target).await?;
    let labelled = label(&args, &session, what, labels).await;
    session.close().await;
    let (kind, key, answer) = labelled?;
    match answer {
        AdmitAnswer::Done { change, .. } => {
            let verb = if change == Change::Unchanged { "not labeled" } else { "labeled" };
            console.print(&format!("{}/{} {verb}\n", kind.qualified(), key.name))?;
            Ok(Exit::Done)
        }
        AdmitAnswer::Refused { problems } => {
            for problem in problems {
                let object = Some(Subject::of_key(&kind.name, &key));
                console.complain(&Complaint { object, location: None, problem });
            }
            Ok(Exit::Failed)
        }
    }
}

async fn label(
    args: &Args,
    session: &Session,
    what: &[String],
    labels: Labels,
) -> Result<(Kind, ObjectKey, AdmitAnswer), Failure> {
    let scope = Scope { namespace: args.namespace.clone(), all_namespaces: false };
    let (kind, key) = one(what, &kinds(&session.platform).await?, &scope)?;
    let request = AdmitRequest::Label { object: key.clone(), labels };
    let answer = Admission::new(&session.platform.bus).ask(&request).await?;
    Ok((kind, key, answer))
}

/// The object, and what its labels become. An object takes one word with a slash, or two.
fn split(words: &[String]) -> Result<(&[String], Labels), Failure> {
    let count = if words.first().is_some_and(|word| word.contains('/')) { 1 } else { 2 };
    let (what, labels) = words.split_at_checked(count).unwrap_or((words, &[]));
    let label = |word: &String| match (word.split_once('='), word.strip_suffix('-')) {
        (Some((key, value)), _) if !key.is_empty() => Ok((key.to_owned(), Some(value.to_owned()))),
        (None, Some(key)) if !key.is_empty() => Ok((key.to_owned(), None)),
        _ => Err(Failure::Usage(format!("`{word}` is neither LABEL=VALUE nor LABEL-"))),
    };
    if labels.is_empty() {
        return Err(Failure::Usage("which labels? LABEL=VALUE sets one, LABEL- removes it".into()));
    }
    Ok((what, labels.iter().map(label).collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_follow_the_object() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let all = words("redis a x=1 kratix.io/paused- y=");
        let (what, labels) = split(&all).unwrap();
        assert_eq!(what, words("redis a"));
        let expected = [("x", Some("1")), ("kratix.io/paused", None), ("y", Some(""))]
            .map(|(k, v)| (k.into(), v.map(str::to_owned)));
        assert_eq!(labels, Labels::from(expected));
        assert_eq!(split(&words("redis/a x=1")).unwrap().0, words("redis/a"));
        for bad in ["redis a", "redis/a", "redis a x", "redis a =1", "redis a -", "redis"] {
            assert!(split(&words(bad)).is_err(), "{bad}");
        }
    }
}
