//! What a directory asks for, given what is stored: a decision on plain data.

use std::collections::{BTreeMap, BTreeSet};

use domain::id::ObjectKey;
use messages::admit::Origin;
use resources::Object;
use resources::kinds::Support;

use crate::deleted::{Deleted, origin};
use crate::kinds::{Kind, Kinds, Role};
use crate::manifests::prepare::uses_environment;
use crate::manifests::{Document, Identity};

/// A stored object, as far as the sync looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub identity: Identity,
    pub origin: Option<Origin>,
    pub terminating: bool,
}

impl Stored {
    pub(super) fn of(object: &Object) -> Self {
        Self { identity: Identity::of(object), origin: origin(object), terminating: object.is_terminating() }
    }
}

/// One directory at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Directory<'a> {
    /// Absolute.
    pub name: &'a str,
    pub documents: &'a [Document],
    /// Every file was read and every document in them.
    pub complete: bool,
    /// Files without any document, by their names from the directory on.
    pub blank: &'a BTreeMap<String, String>,
}

/// What to do, in this order. Documents by their index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// In three groups, each to be done before the next: Promises, other known kinds, requests.
    pub apply: [Vec<usize>; 3],
    /// Requests first, Promises last.
    pub delete: Vec<(ObjectKey, Origin)>,
    /// The object that is there must go first.
    pub later: Vec<(usize, ObjectKey)>,
    /// Deleted by hand, and not changed since.
    pub held: Vec<usize>,
    /// Of a kind that nobody offers.
    pub foreign: Vec<usize>,
    /// Documents whose object an earlier one (the second) has already.
    pub repeated: Vec<(usize, usize)>,
    /// Deletions by hand that are over.
    pub forget: Vec<ObjectKey>,
    /// Blank files that held documents before, with the number of objects that stay because of it.
    pub emptied: BTreeMap<String, usize>,
}

/// Decides for one directory.
///
/// An object belongs to the directory that created it, so documents that are gone delete only what came from here, and
/// only when every file of the directory could be read. A file that held documents and is blank now may be one that is
/// just being written; it deletes nothing until it holds some again or is removed.
pub(super) fn plan(
    directory: Directory<'_>,
    kinds: &Kinds,
    stored: &BTreeMap<ObjectKey, Stored>,
    deleted: &Deleted,
) -> Plan {
    let mut plan = Plan::default();
    let mut first: BTreeMap<Identity, usize> = BTreeMap::new();
    for (index, document) in directory.documents.iter().enumerate() {
        let earlier = first.entry(Identity::of(&document.object)).or_insert(index);
        if *earlier != index {
            plan.repeated.push((index, *earlier));
            continue;
        }
        match kinds.written(&document.object.kind, document.object.group()) {
            None => plan.foreign.push(index),
            Some(kind) => plan.decide(index, &kind, directory, stored, deleted),
        }
    }
    if directory.complete {
        plan.prune(directory, &first.into_keys().collect(), kinds, stored, deleted);
    }
    plan
}

/// What the document would be if its object came from here unchanged.
pub(super) fn origin_of(directory: &str, document: &Document) -> Origin {
    Origin {
        directory: directory.to_owned(),
        file: document.place.source.clone(),
        digest: document.digest.to_string(),
    }
}

fn rank(kind: &Kind) -> usize {
    match kind.role {
        Role::Known(_) if kind.is_promise() => 0,
        Role::Known(_) => 1,
        Role::Request { .. } => 2,
    }
}

impl Plan {
    fn decide(
        &mut self,
        index: usize,
        kind: &Kind,
        directory: Directory<'_>,
        stored: &BTreeMap<ObjectKey, Stored>,
        deleted: &Deleted,
    ) {
        if kind.role == Role::Known(Support::Ignored) {
            return;
        }
        let document = &directory.documents[index];
        let key = kind.key_of(&document.object);
        let wanted = origin_of(directory.name, document);
        if let Some(by_hand) = deleted.get(&key).filter(|by_hand| by_hand.directory == directory.name) {
            let is_there = stored.get(&key).is_some_and(|stored| !stored.terminating);
            if by_hand.digest == wanted.digest && !is_there {
                return self.held.push(index);
            }
            self.forget.push(key.clone());
        }
        match stored.get(&key) {
            Some(stored) if stored.terminating => self.later.push((index, key)),
            Some(stored)
                if stored.origin.as_ref() == Some(&wanted) && !uses_environment(&document.object) => {}
            Some(_) | None => self.apply[rank(kind)].push(index),
        }
    }

    fn prune(
        &mut self,
        directory: Directory<'_>,
        written: &BTreeSet<Identity>,
        kinds: &Kinds,
        stored: &BTreeMap<ObjectKey, Stored>,
        deleted: &Deleted,
    ) {
        let gone =
            stored.iter().filter(|(_, stored)| !stored.terminating && !written.contains(&stored.identity));
        for (key, stored) in gone {
            match &stored.origin {
                Some(origin) if origin.directory != directory.name => {}
                Some(origin) if directory.blank.contains_key(&origin.file) => {
                    *self.emptied.entry(origin.file.clone()).or_default() += 1;
                }
                Some(origin) => self.delete.push((key.clone(), origin.clone())),
                None => {}
            }
        }
        let rank = |key: &ObjectKey| kinds.stored(&key.kind).map_or(2, |kind| rank(&kind));
        self.delete.sort_by_key(|(key, _)| std::cmp::Reverse(rank(key)));
        // A document that is gone is a change, too: written again it makes its object again.
        let known: BTreeSet<ObjectKey> = deleted
            .iter()
            .filter(|(key, by_hand)| {
                by_hand.directory == directory.name
                    && !directory.blank.contains_key(&by_hand.file)
                    && kinds.stored(&key.kind).is_some_and(|kind| !is_written(&kind, key, written))
            })
            .map(|(key, _)| key.clone())
            .collect();
        self.forget.extend(known);
    }
}

fn is_written(kind: &Kind, key: &ObjectKey, written: &BTreeSet<Identity>) -> bool {
    written.contains(&Identity::of_key(kind, key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::tests::promise;
    use crate::manifests::tests::{document, place};

    const HERE: &str = "/srv/dir";

    fn kinds() -> Kinds {
        Kinds::of(&[promise("redis", "Redis", "rd")])
    }

    fn secret(name: &str) -> Document {
        document(&format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\n"))
    }

    fn request(name: &str) -> Document {
        document(&format!("apiVersion: a.io/v1\nkind: Redis\nmetadata: {{name: {name}}}\nspec: {{}}\n"))
    }

    fn a_promise() -> Document {
        let promise = promise("redis", "Redis", "rd").to_value().to_string();
        document(&promise)
    }

    fn key(document: &Document) -> ObjectKey {
        let kind = kinds().written(&document.object.kind, document.object.group()).unwrap();
        kind.key_of(&document.object)
    }

    /// As it is stored after it was applied from a directory.
    fn applied(document: &Document, directory: &str) -> (ObjectKey, Stored) {
        let origin = Some(origin_of(directory, document));
        (key(document), Stored { origin, ..Stored::of(&document.object) })
    }

    /// A directory without blank files.
    fn here(documents: &[Document], complete: bool) -> Directory<'_> {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        Directory { name: HERE, documents, complete, blank: &NONE }
    }

    fn decide(documents: &[Document], stored: &[(ObjectKey, Stored)], deleted: &Deleted) -> Plan {
        let directory = here(documents, true);
        plan(directory, &kinds(), &stored.iter().cloned().collect(), deleted)
    }

    #[test]
    fn promises_come_first_and_requests_last() {
        let documents = [request("a"), secret("s"), a_promise(), request("b")];
        let plan = decide(&documents, &[], &Deleted::new());
        assert_eq!(plan.apply, [vec![2], vec![1], vec![0, 3]]);
    }

    #[test]
    fn what_is_there_unchanged_is_left_alone() {
        let (old, new) =
            (request("a"), document("apiVersion: a.io/v1\nkind: Redis\nmetadata: {name: a}\nspec: {x: 1}\n"));
        let stored = [applied(&old, HERE)];
        assert_eq!(decide(&[old], &stored, &Deleted::new()), Plan::default());
        assert_eq!(decide(&[new], &stored, &Deleted::new()).apply[2], [0]);
    }

    #[test]
    fn what_depends_on_the_environment_is_always_applied() {
        let document =
            document("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {x: \"${env:X}\"}\n");
        let stored = [applied(&document, HERE)];
        assert_eq!(decide(&[document], &stored, &Deleted::new()).apply[1], [0]);
    }

    #[test]
    fn only_this_directory_s_objects_are_pruned() {
        let by_command = (key(&secret("c")), Stored::of(&secret("c").object));
        let stored = [
            applied(&request("a"), HERE),
            applied(&a_promise(), HERE),
            applied(&secret("b"), "/other"),
            by_command,
        ];
        let plan = decide(&[], &stored, &Deleted::new());
        let keys: Vec<&ObjectKey> = plan.delete.iter().map(|(key, _)| key).collect();
        assert_eq!(keys, [&key(&request("a")), &key(&a_promise())], "requests before their Promise");
    }

    #[test]
    fn nothing_is_pruned_while_a_file_cannot_be_read() {
        let stored = [applied(&request("a"), HERE)].into();
        let directory = here(&[], false);
        assert_eq!(plan(directory, &kinds(), &stored, &Deleted::new()), Plan::default());
    }

    /// An editor may empty a file before it writes it.
    #[test]
    fn a_blank_file_prunes_nothing_until_it_is_written_or_removed() {
        let mut other = applied(&request("b"), HERE);
        other.1.origin.as_mut().unwrap().file = "other.yaml".into();
        let (other_key, other_origin) = (other.0.clone(), other.1.origin.clone().unwrap());
        let stored = [applied(&request("a"), HERE), other, applied(&secret("c"), "/other")].into();
        let held = request("h");
        let by_hand = Deleted::from([(key(&held), origin_of(HERE, &held))]);
        let blank = BTreeMap::from([("file.yaml".to_owned(), "dir/file.yaml".to_owned())]);
        let emptied = plan(Directory { blank: &blank, ..here(&[], true) }, &kinds(), &stored, &by_hand);
        let delete = vec![(other_key, other_origin)];
        let kept = BTreeMap::from([("file.yaml".to_owned(), 1)]);
        assert_eq!(emptied, Plan { delete, emptied: kept, ..Plan::default() });

        let removed = plan(here(&[], true), &kinds(), &stored, &by_hand);
        assert_eq!((removed.delete.len(), removed.forget), (2, vec![key(&held)]));
        assert!(removed.emptied.is_empty());
    }

    #[test]
    fn a_blank_file_that_held_nothing_is_no_matter() {
        let blank = BTreeMap::from([("new.yaml".to_owned(), "dir/new.yaml".to_owned())]);
        let stored = [applied(&request("a"), HERE)].into();
        let plan = plan(Directory { blank: &blank, ..here(&[], true) }, &kinds(), &stored, &Deleted::new());
        assert_eq!((plan.delete.len(), plan.emptied.len()), (1, 0));
    }

    /// A request whose Promise is unknown for a moment has not vanished.
    #[test]
    fn an_object_of_an_unknown_kind_is_not_pruned_while_it_is_written() {
        let stored = [applied(&request("a"), HERE)].into();
        let documents = [request("a")];
        let directory = here(&documents, true);
        let plan = plan(directory, &Kinds::default(), &stored, &Deleted::new());
        assert_eq!((plan.foreign, plan.delete), (vec![0], vec![]));
    }

    #[test]
    fn an_object_that_moves_between_files_stays() {
        let stored = [applied(&request("a"), HERE)];
        let mut moved = request("a");
        moved.place = place("dir/other.yaml", "other.yaml").into();
        let plan = decide(&[moved], &stored, &Deleted::new());
        assert_eq!((&plan.apply[2][..], plan.delete.len()), (&[0][..], 0));
    }

    #[test]
    fn a_deletion_by_hand_holds_until_the_document_changes() {
        let old = request("a");
        let by_hand = Deleted::from([(key(&old), origin_of(HERE, &old))]);
        assert_eq!(
            decide(std::slice::from_ref(&old), &[], &by_hand),
            Plan { held: vec![0], ..Plan::default() }
        );

        let changed = document("apiVersion: a.io/v1\nkind: Redis\nmetadata: {name: a}\nspec: {x: 1}\n");
        let plan = decide(&[changed], &[], &by_hand);
        assert_eq!((&plan.apply[2][..], &plan.forget[..]), (&[0][..], &[key(&old)][..]));

        let plan = decide(&[], &[], &by_hand);
        assert_eq!(plan, Plan { forget: vec![key(&old)], ..Plan::default() });

        // Made again by a command: the deletion is over.
        let stored = [(key(&old), Stored::of(&old.object))];
        assert_eq!(decide(std::slice::from_ref(&old), &stored, &by_hand).forget, [key(&old)]);
    }

    #[test]
    fn a_deletion_in_another_directory_is_nothing_to_this_one() {
        let document = request("a");
        let by_hand = Deleted::from([(key(&document), origin_of("/other", &document))]);
        let plan = decide(&[document], &[], &by_hand);
        assert_eq!((&plan.apply[2][..], plan.forget.len()), (&[0][..], 0));
    }

    #[test]
    fn an_object_that_is_going_goes_first() {
        let (key, stored) = applied(&request("a"), HERE);
        let stored = [(key.clone(), Stored { terminating: true, ..stored })];
        assert_eq!(decide(&[request("a")], &stored, &Deleted::new()).later, [(0, key)]);
        assert_eq!(decide(&[], &stored, &Deleted::new()), Plan::default(), "it is going already");
    }

    #[test]
    fn foreign_kinds_and_repetitions_are_told_apart() {
        let pod = document("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n");
        let namespace = document("apiVersion: v1\nkind: Namespace\nmetadata: {name: space}\n");
        let plan = decide(&[pod, request("a"), namespace, request("a")], &[], &Deleted::new());
        assert_eq!(plan.foreign, [0]);
        assert_eq!(plan.apply, [vec![], vec![], vec![1]]);
        assert_eq!(plan.repeated, [(3, 1)]);
    }
}
