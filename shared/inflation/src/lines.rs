//! The lines of fields, for messages to people.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use crate::documents::{as_line, options, split};
use crate::field::{Step, steps};

/// Where the fields of one document stand.
#[derive(Clone, Debug)]
pub struct Lines {
    /// Lines before the document.
    skipped: usize,
    root: Node,
}

impl Lines {
    /// Of one document of a text, by [`crate::Document::index`]; none when it cannot be read.
    pub fn of(text: &str, index: usize) -> Option<Self> {
        let part = split(text).nth(index)?;
        let root: Spanned<Tree> = serde_saphyr::from_str_with_options(part.text, options()).ok()?;
        Some(Self { skipped: part.skipped, root: Node::new(root) })
    }

    /// Line (from 1) of the field that a problem names. A field that is missing has the line of what it is missing in.
    pub fn line(&self, field: &str) -> usize {
        let mut node = &self.root;
        for step in steps(field) {
            match node.inner.get(&step) {
                Some(inner) => node = inner,
                None => break,
            }
        }
        self.skipped + node.line
    }
}

#[derive(Clone, Debug)]
struct Node {
    line: usize,
    inner: Tree,
}

#[derive(Clone, Debug)]
enum Tree {
    Leaf,
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    fn new(tree: Spanned<Tree>) -> Self {
        Self { line: as_line(tree.referenced.line()), inner: tree.value }
    }
}

impl Tree {
    fn get(&self, step: &Step) -> Option<&Node> {
        match (self, step) {
            (Self::List(items), Step::Index(index)) => items.get(*index),
            (Self::Map(fields), Step::Key(name)) => {
                fields.iter().find(|(key, _)| key == name).map(|(_, node)| node)
            }
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_str<E>(self, _: &str) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_some<D: Deserializer<'de>>(self, input: D) -> Result<Tree, D::Error> {
        IgnoredAny::deserialize(input).map(|_| Tree::Leaf)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(Node::new(item));
        }
        Ok(Tree::List(list))
    }

    /// A field's line is that of its name: its value may start below.
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Tree, A::Error> {
        let mut map = Vec::new();
        while let Some(name) = fields.next_key::<Spanned<String>>()? {
            let line = as_line(name.referenced.line());
            map.push((name.value, Node { line, inner: fields.next_value()? }));
        }
        Ok(Tree::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# first\n---\na: 1\n---\napiVersion: v1\nmetadata:\n  labels:\n    a.b/c: x\nspec:\n  items:\n  \
                        - name: one\n    text: |\n      long\n      text\n  - name: two\n    list: [\n      1,\n      2]\n";

    #[test]
    fn fields_are_found_at_their_names() {
        let lines = Lines::of(TEXT, 2).unwrap();
        for (field, line) in [
            ("", 5),
            ("metadata.labels[\"a.b/c\"]", 8),
            ("spec.items", 10),
            ("spec.items[0]", 11),
            ("spec.items[0].text", 12),
            ("spec.items[1].name", 15),
            ("spec.items[1].list[1]", 18),
            // What is missing is shown where it is missing.
            ("spec.items[1].image", 15),
            ("spec.items[7]", 10),
            ("status", 5),
        ] {
            assert_eq!(lines.line(field), line, "{field}");
        }
        assert_eq!(Lines::of(TEXT, 1).unwrap().line("a"), 3);
        assert!(Lines::of(TEXT, 9).is_none());
        assert!(Lines::of("a: [", 0).is_none());
    }

    #[test]
    fn aliases_and_json_have_lines() {
        let lines = Lines::of("base: &x\n  k: v\nuse: *x\n", 0).unwrap();
        assert_eq!((lines.line("base.k"), lines.line("use"), lines.line("use.k")), (2, 3, 3));
        let lines = Lines::of("{\n  \"a\": {\n    \"b\": [\n      0,\n      1\n    ]\n  }\n}\n", 0).unwrap();
        assert_eq!((lines.line("a"), lines.line("a.b"), lines.line("a.b[1]")), (2, 3, 5));
    }
}
