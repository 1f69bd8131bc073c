//! Plain tables: columns by width, three spaces apart, nothing at the end of a line.

use std::fmt;

const GAP: usize = 3;

pub(crate) struct Table {
    columns: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<'a>(header: impl IntoIterator<Item = &'a str>) -> Self {
        let header: Vec<String> = header.into_iter().map(str::to_owned).collect();
        Self { columns: header.len(), rows: vec![header] }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| one_line(&cell)).collect());
    }

    /// Whether it has nothing but its header.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }
}

/// What would break the table or the terminal becomes a space.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', width + GAP - cell.chars().count()));
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_line_up_and_stay_on_their_line() {
        let mut table = Table::new(["NAME", "X"]);
        assert!(table.is_empty());
        table.row(["ä".into(), "1\n\u{1b}[31m2".into()]);
        table.row(["longer".into(), String::new()]);
        assert_eq!(table.to_string(), "NAME     X\nä        1  [31m2\nlonger\n");
    }
}
