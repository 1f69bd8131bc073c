//! YAML or JSON text of possibly many documents, to objects. A bad document does not hide the others.

use domain::problem::Problem;
use resources::Object;
use serde_json::{Map, Value};
use serde_saphyr::{Error, MessageFormatter, Options, Spanned, UserMessageFormatter};

use crate::schema::known;

/// One document of a text.
#[derive(Clone, Debug)]
pub struct Document {
    /// Which one of the text, empty ones counted; [`crate::Lines::of`] takes it.
    pub index: usize,
    /// Line (from 1) where its content starts, or where reading it failed.
    pub line: usize,
    pub content: Content,
}

#[derive(Clone, Debug)]
pub enum Content {
    Object(Box<Object>),
    /// Valid YAML that is no object: no `apiVersion` and `kind`.
    Foreign,
    Broken(Vec<Problem>),
}

/// Longest text of one document, in bytes: twice and a half what an object may have.
pub const MAX_DOCUMENT: usize = 4 << 20;

/// Reads all documents. Empty ones (also those of comments only) are left out.
pub fn decode(text: &str) -> Vec<Document> {
    split(text).filter(|part| !part.is_empty()).filter_map(|part| read(&part)).collect()
}

/// The text of one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    pub(crate) index: usize,
    /// Lines before it.
    pub(crate) skipped: usize,
    pub(crate) text: &'a str,
}

impl Part<'_> {
    /// Only blank lines, comments, directives and its marker.
    fn is_empty(self) -> bool {
        self.text.lines().all(|line| {
            let line = line.strip_prefix("---").unwrap_or(line).trim_start();
            line.is_empty() || line.starts_with(['#', '%'])
        })
    }
}

/// Splits at the markers `---` and `...`, which in YAML are markers wherever a line starts with them.
pub(crate) fn split(text: &str) -> impl Iterator<Item = Part<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_marker = |line: &str, marker: &str| {
        line.strip_prefix(marker)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
    };
    let mut parts = Vec::new();
    let (mut start, mut skipped, mut offset) = (0, 0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let after = offset + line.len();
        let next = match line {
            _ if is_marker(line, "---") => Some((offset, number)),
            _ if is_marker(line, "...") => Some((after, number + 1)),
            _ => None,
        };
        if let Some((next, lines)) = next {
            parts.push((start, offset, skipped));
            (start, skipped) = (next, lines);
        }
        offset = after;
    }
    parts.push((start, text.len(), skipped));
    parts.into_iter().enumerate().map(move |(index, (start, end, skipped))| Part {
        index,
        skipped,
        text: &text[start..end],
    })
}

/// Limits against alias bombs, depth and size; numbers as `kubectl` reads them.
pub(crate) fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_documents: 1,
            max_depth: 100,
            max_events: 1_000_000,
            max_nodes: 500_000,
            max_aliases: 10_000,
            max_anchors: 10_000,
            max_total_scalar_bytes: MAX_DOCUMENT,
            max_merge_keys: 10_000,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 200_000,
            max_replay_stack_depth: 32,
        },
        legacy_octal_numbers: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

fn read(part: &Part<'_>) -> Option<Document> {
    let of = |line: usize, content| Some(Document { index: part.index, line: part.skipped + line, content });
    if part.text.len() > MAX_DOCUMENT {
        let message = format!("the document is longer than {} MiB", MAX_DOCUMENT >> 20);
        return of(1, Content::Broken(vec![Problem::error("too-large", "", message)]));
    }
    match serde_saphyr::from_str_with_options::<Spanned<Value>>(part.text, options()) {
        Ok(root) if root.value.is_null() => None,
        Ok(root) => of(line_of(&root), to_object(root.value)),
        Err(error) => {
            let line = error.location().map_or(1, |location| as_line(location.line()));
            of(line, Content::Broken(vec![Problem::error("syntax", "", readable(&error))]))
        }
    }
}

fn line_of<T>(value: &Spanned<T>) -> usize {
    as_line(value.referenced.line())
}

pub(crate) fn as_line(line: u64) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX).max(1)
}

/// The parser's message without its place, in which no control characters are left.
fn readable(error: &Error) -> String {
    let mut error = error.without_snippet();
    while let Error::AliasError { error: inner, .. } = error {
        error = inner.without_snippet();
    }
    UserMessageFormatter.format_message(error).replace(|c: char| c.is_control(), " ")
}

fn to_object(value: Value) -> Content {
    let Value::Object(mut fields) = value else { return Content::Foreign };
    if !(fields.contains_key("apiVersion") && fields.contains_key("kind")) {
        return Content::Foreign;
    }
    let problems = check_head(&mut fields);
    if !problems.is_empty() {
        return Content::Broken(problems);
    }
    match Object::from_value(Value::Object(fields)) {
        Ok(object) => Content::Object(Box::new(object)),
        Err(error) => Content::Broken(vec![Problem::error("schema", "", error.to_string())]),
    }
}

/// The parts that every object has, before they are put into a type.
fn check_head(fields: &mut Map<String, Value>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for name in ["apiVersion", "kind"] {
        if fields.get(name).and_then(Value::as_str).is_none_or(str::is_empty) {
            problems.push(Problem::error("schema", name, "expected a string that is not empty"));
        }
    }
    if let Some(metadata) = fields.get_mut("metadata").filter(|metadata| !metadata.is_null()) {
        known::METADATA.apply(metadata, "metadata", &mut problems);
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(text: &str) -> Vec<String> {
        let content = |document: &Document| match &document.content {
            Content::Object(object) => format!("{} {}", object.kind, object.name()),
            Content::Foreign => "foreign".into(),
            Content::Broken(problems) => {
                problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
            }
        };
        decode(text).iter().map(|document| format!("{}: {}", document.line, content(document))).collect()
    }

    #[test]
    fn every_document_is_read() {
        let text = "# a comment\n---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\n\n--- # nothing\n...\n\
                    %YAML 1.2\n---\n\n# here\napiVersion: v1\nkind: B\nmetadata: {name: b}\ndata: |\n  ---\n  x\n\
                    --- {apiVersion: v1, kind: C, metadata: {name: c, creationTimestamp: null}}\n--- ~\n";
        assert_eq!(summary(text), ["3: A a", "14: B b", "20: C c"]);
        assert_eq!(summary("\u{feff}{\"apiVersion\": \"v1\", \"kind\": \"J\"}"), ["1: J "]);
        assert_eq!(
            summary("a: 1\r\n---\r\n- 2\r\n---\r\njust text\r\n"),
            ["1: foreign", "3: foreign", "5: foreign"]
        );
        assert_eq!(summary(""), Vec::<String>::new());
    }

    #[test]
    fn a_bad_document_does_not_hide_the_others() {
        let text =
            "apiVersion: v1\nkind: A\nmetadata: [\n---\napiVersion: v1\nkind: B\nmetadata: {name: b}\n";
        assert_eq!(summary(text), ["3: unclosed bracket '['", "5: B b"]);
        let text = "a: 1\nb: 2\na: 3\n";
        assert_eq!(summary(text), ["3: duplicate mapping key `a` is not allowed here"]);
    }

    #[test]
    fn a_head_of_another_shape_is_named() {
        let text = "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  labels: {on: true, n: 5}\n";
        let line = "1: metadata.labels.n: expected string, found integer; \
                    metadata.labels.on: expected string, found boolean";
        assert_eq!(summary(text), [line]);
        assert_eq!(
            summary("apiVersion: 1\nkind: ''\n"),
            ["1: apiVersion: expected a string that is not empty; kind: expected a string that is not empty"]
        );
        assert_eq!(
            summary("apiVersion: v1\nkind: A\nmetadata: 5\n"),
            ["1: metadata: expected object, found integer"]
        );
    }

    #[test]
    fn numbers_are_read_as_kubectl_reads_them() {
        let text =
            "apiVersion: v1\nkind: A\nspec: {a: 0755, b: 1_000, c: yes, d: 2024-01-01, e: 0x1F, f: 1.5}\n";
        let Content::Object(object) = decode(text).remove(0).content else { panic!("no object") };
        let expected =
            serde_json::json!({"a": 493, "b": 1000, "c": true, "d": "2024-01-01", "e": 31, "f": 1.5});
        assert_eq!(object.spec(), Some(&expected));
    }

    /// A billion laughs, a deep list, a long text: refused in bounded time and memory.
    #[test]
    fn bombs_do_not_go_off() {
        let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..10 {
            let inner = vec![format!("*a{}", level - 1); 9].join(", ");
            laughs = format!("{laughs}a{level}: &a{level} [{inner}]\n");
        }
        assert!(matches!(decode(&laughs)[..], [Document { content: Content::Broken(_), .. }]));
        let deep = "[".repeat(50_000);
        assert!(matches!(decode(&deep)[..], [Document { content: Content::Broken(_), .. }]));
        let deep = (0..300).map(|level| " ".repeat(level) + "a:").collect::<Vec<_>>().join("\n");
        assert!(matches!(decode(&deep)[..], [Document { content: Content::Broken(_), .. }]));
        let long = format!("a: {}", "x".repeat(MAX_DOCUMENT));
        assert_eq!(summary(&long), ["1: the document is longer than 4 MiB"]);
        let fits = format!("apiVersion: v1\nkind: A\ndata: {{a: {}}}\n", "x".repeat(3 << 19));
        assert_eq!(summary(&fits), ["1: A "]);
    }
}
