//! The kinds this version knows by itself; those of Promises' APIs come with the Promises.

use crate::keys::{KARGO_GROUP, KRATIX_GROUP, V1ALPHA1};

/// How far this version goes with a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Support {
    /// It is stored and has its effect.
    Acted,
    /// It is stored, and gets condition `Supported=False`.
    KnownNotActed,
    /// It is taken as a no-op and not stored.
    Ignored,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KnownKind {
    pub kind: &'static str,
    pub plural: &'static str,
    pub singular: &'static str,
    pub short_names: &'static [&'static str],
    /// Empty for the core group.
    pub group: &'static str,
    pub versions: &'static [&'static str],
    pub namespaced: bool,
    pub support: Support,
}

use Support::{Acted, Ignored, KnownNotActed};

const CLUSTER: bool = false;
const NAMESPACED: bool = true;

const fn of(
    group: &'static str,
    version: &'static [&'static str],
    names: [&'static str; 3],
    short_names: &'static [&'static str],
    namespaced: bool,
    support: Support,
) -> KnownKind {
    let [kind, plural, singular] = names;
    KnownKind { kind, plural, singular, short_names, group, versions: version, namespaced, support }
}

const fn kratix(
    names: [&'static str; 3],
    short: &'static [&'static str],
    namespaced: bool,
    support: Support,
) -> KnownKind {
    of(KRATIX_GROUP, &[V1ALPHA1], names, short, namespaced, support)
}

const fn kargo(names: [&'static str; 3], short: &'static [&'static str], namespaced: bool) -> KnownKind {
    of(KARGO_GROUP, &[V1ALPHA1], names, short, namespaced, KnownNotActed)
}

/// All of them, Kratix', then those of the core groups, then Kargo's.
pub static KNOWN_KINDS: &[KnownKind] = &[
    kratix(["Promise", "promises", "promise"], &[], CLUSTER, Acted),
    kratix(["Destination", "destinations", "destination"], &["dest", "dests"], CLUSTER, Acted),
    kratix(["GitStateStore", "gitstatestores", "gitstatestore"], &[], CLUSTER, Acted),
    kratix(["BucketStateStore", "bucketstatestores", "bucketstatestore"], &[], CLUSTER, KnownNotActed),
    kratix(["PromiseRelease", "promisereleases", "promiserelease"], &[], CLUSTER, KnownNotActed),
    kratix(["PromiseRevision", "promiserevisions", "promiserevision"], &[], CLUSTER, KnownNotActed),
    kratix(["ResourceBinding", "resourcebindings", "resourcebinding"], &[], NAMESPACED, KnownNotActed),
    kratix(["HealthRecord", "healthrecords", "healthrecord"], &[], NAMESPACED, KnownNotActed),
    kratix(["DryRun", "dryruns", "dryrun"], &[], NAMESPACED, KnownNotActed),
    kratix(["Work", "works", "work"], &[], NAMESPACED, KnownNotActed),
    kratix(["WorkPlacement", "workplacements", "workplacement"], &["wp", "wps"], NAMESPACED, KnownNotActed),
    of("", &["v1"], ["Secret", "secrets", "secret"], &[], NAMESPACED, Acted),
    of("", &["v1"], ["ConfigMap", "configmaps", "configmap"], &["cm"], NAMESPACED, Acted),
    of("", &["v1"], ["Namespace", "namespaces", "namespace"], &["ns"], CLUSTER, Ignored),
    // Written by Millrace itself when a Promise is installed; one from outside would define an API without a Promise.
    of(
        "apiextensions.k8s.io",
        &["v1"],
        ["CustomResourceDefinition", "customresourcedefinitions", "customresourcedefinition"],
        &["crd", "crds"],
        CLUSTER,
        Ignored,
    ),
    kargo(["Project", "projects", "project"], &[], CLUSTER),
    kargo(["ProjectConfig", "projectconfigs", "projectconfig"], &[], NAMESPACED),
    kargo(["ClusterConfig", "clusterconfigs", "clusterconfig"], &[], CLUSTER),
    kargo(["Warehouse", "warehouses", "warehouse"], &[], NAMESPACED),
    kargo(["Freight", "freights", "freight"], &[], NAMESPACED),
    kargo(["Stage", "stages", "stage"], &[], NAMESPACED),
    kargo(["Target", "targets", "target"], &[], NAMESPACED),
    kargo(["Promotion", "promotions", "promotion"], &["promo", "promos"], NAMESPACED),
    kargo(["PromotionRequest", "promotionrequests", "promotionrequest"], &[], NAMESPACED),
    kargo(["PromotionTask", "promotiontasks", "promotiontask"], &["promotask", "promotasks"], NAMESPACED),
    kargo(
        ["ClusterPromotionTask", "clusterpromotiontasks", "clusterpromotiontask"],
        &["clusterpromotask", "clusterpromotasks"],
        CLUSTER,
    ),
];

/// The kind as a manifest names it; letter case of the kind does not matter.
pub fn find(kind: &str, group: &str) -> Option<&'static KnownKind> {
    KNOWN_KINDS.iter().find(|known| known.group == group && known.kind.eq_ignore_ascii_case(kind))
}

/// The kind as a command line names it: singular, plural, short name, kind, or one of these with `.group`.
pub fn find_spelling(spelling: &str) -> Option<&'static KnownKind> {
    KNOWN_KINDS.iter().find(|known| {
        let names = [known.plural, known.singular, known.kind];
        is_spelling(spelling, known.group, names.into_iter().chain(known.short_names.iter().copied()))
    })
}

/// Whether `spelling` is one of the names, alone or followed by `.group`.
pub(crate) fn is_spelling<'a>(spelling: &str, group: &str, names: impl IntoIterator<Item = &'a str>) -> bool {
    names.into_iter().any(|name| {
        let head = spelling.get(..name.len());
        let rest = spelling.get(name.len()..).unwrap_or_default();
        head.is_some_and(|head| head.eq_ignore_ascii_case(name))
            && (rest.is_empty()
                || rest.strip_prefix('.').is_some_and(|rest| rest.eq_ignore_ascii_case(group)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_understood() {
        for spelling in ["destination", "Destinations", "dest", "DESTS", "destinations.platform.kratix.io"] {
            assert_eq!(find_spelling(spelling).map(|known| known.kind), Some("Destination"), "{spelling}");
        }
        for spelling in ["", "des", "dest.", "destinations.kargo.akuity.io", "destinationsx"] {
            assert_eq!(find_spelling(spelling), None, "{spelling}");
        }
        assert_eq!(find_spelling("cm").map(|known| known.kind), Some("ConfigMap"));
        assert!(find("stage", KARGO_GROUP).is_some_and(|stage| stage.namespaced));
        assert!(find("Stage", KRATIX_GROUP).is_none());
    }

    #[test]
    fn no_two_kinds_share_a_spelling() {
        for known in KNOWN_KINDS {
            for spelling in [known.plural, known.singular, known.kind].iter().chain(known.short_names) {
                assert_eq!(find_spelling(spelling), Some(known), "{spelling}");
            }
        }
    }
}
