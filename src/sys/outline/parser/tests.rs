//! Tests of the parsers: which symbols each language has, and that odd input ends.

use super::super::TIME_LIMIT;
use super::*;

fn outline(language: SourceLanguage, text: &str) -> String {
    let symbols = parse(language, text, TIME_LIMIT).unwrap().symbols;
    let line = |symbol: &OutlineSymbol| {
        let OutlineSymbol { qualified, kind, first_line, last_line, depth, .. } = symbol;
        format!("{depth} {} {qualified} {first_line}-{last_line}\n", kind.word())
    };
    symbols.iter().map(line).collect()
}

#[test]
fn rust() {
    let text = "use a;\n\npub struct Lock<T>(T);\n\nimpl<T> Lock<T> {\n    pub fn new(t: T) -> Self {\n        Self(t)\n    }\n}\n\n\
                impl<T> fmt::Display for Lock<T> {\n    fn fmt(&self) {}\n}\n\nmod tests {\n    #[test]\n    fn it() {}\n}\n\n\
                trait Wait { fn wait(&self); }\nconst A: u8 = 1;\nmacro_rules! m { () => {} }\nenum E { A }\ntype T = u8;\n";
    let expected = "0 struct Lock 3-3\n0 impl impl Lock<T> 5-9\n1 fn Lock::new 6-8\n0 impl impl fmt::Display for Lock<T> 11-13\n\
                    1 fn Lock::Display::fmt 12-12\n0 mod tests 15-18\n1 fn tests::it 17-17\n0 trait Wait 20-20\n\
                    1 fn Wait::wait 20-20\n0 const A 21-21\n0 macro m 22-22\n0 enum E 23-23\n0 type T 24-24\n";
    assert_eq!(outline(SourceLanguage::Rust, text), expected);
}

#[test]
fn python() {
    let text = "import a\nLIMIT = 3\n\n@cached\ndef load(x):\n    def inner():\n        pass\n    return inner\n\nclass Store(Base):\n    \
                size: int = 0\n\n    @property\n    def full(self):\n        return 1\n\nif a:\n    async def late():\n        pass\n";
    let expected = "0 var LIMIT 2-2\n0 fn load 4-8\n0 class Store 10-15\n1 var Store.size 11-11\n1 fn Store.full 13-15\n\
                    0 fn late 18-19\n";
    assert_eq!(outline(SourceLanguage::Python, text), expected);
}

#[test]
fn go() {
    let text = "package a\n\ntype Server[T any] struct {\n\tx int\n}\n\nfunc (s *Server[T]) Start() error {\n\treturn nil\n}\n\n\
                func New() *Server {\n\treturn nil\n}\n\nconst (\n\tA = 1\n\tB = 2\n)\n\nvar Z = 1\n";
    let expected = "0 type Server 3-5\n0 fn Server.Start 7-9\n0 fn New 11-13\n0 const A 16-16\n0 const B 17-17\n0 var Z 20-20\n";
    assert_eq!(outline(SourceLanguage::Go, text), expected);
}

#[test]
fn typescript_and_javascript() {
    let text = "export const add = (a: number) => {\n  return a;\n};\n\nexport class Store<T> extends Base {\n  private size = 0;\n  \
                get(key: string): T {\n    return this.map.get(key);\n  }\n}\n\nexport interface Options { a: string }\ntype Id = string;\n\
                enum Kind { A }\nnamespace N {\n  export function f() {}\n}\nexport default function main() {}\n";
    let expected = "0 fn add 1-3\n0 class Store 5-10\n1 var Store.size 6-6\n1 fn Store.get 7-9\n0 interface Options 12-12\n\
                    0 type Id 13-13\n0 enum Kind 14-14\n0 mod N 15-17\n1 fn N.f 16-16\n0 fn main 18-18\n";
    assert_eq!(outline(SourceLanguage::TypeScript, text), expected);
    let text = "function App(props) {\n  return <div>{props.a}</div>;\n}\nclass A {\n  #x = 1;\n  run() {}\n}\nvar [b, c] = [1, 2];\n";
    assert_eq!(
        outline(SourceLanguage::Tsx, text),
        "0 fn App 1-3\n0 class A 4-7\n1 var A.#x 5-5\n1 fn A.run 6-6\n"
    );
}

#[test]
fn damaged_and_hostile_texts() {
    let deep = "mod a {".repeat(5_000);
    let open = "(".repeat(200_000);
    let names = format!("fn {}() {{}}", "x".repeat(10_000));
    for text in ["", "fn", "fn a( {", "\u{feff}fn a() {}", "impl {} fn b() {}", &deep, &open, &names] {
        for language in
            [SourceLanguage::Rust, SourceLanguage::Python, SourceLanguage::Go, SourceLanguage::Tsx]
        {
            // It may take too long; it must end, and keep its bounds.
            let symbols = parse(language, text, TIME_LIMIT).unwrap_or_default().symbols;
            assert!(
                symbols
                    .iter()
                    .all(|symbol| symbol.name.len() <= 480 && symbol.first_line <= symbol.last_line)
            );
        }
    }
    assert!(outline(SourceLanguage::Rust, "fn a( {\n\nfn b() {}\n}\nfn c() {}\n").contains("fn c 5-5"));
}

#[test]
fn parsing_ends_at_its_limit() {
    let long = "fn a() { b(c, d, e); }\n".repeat(50_000);
    assert_eq!(parse(SourceLanguage::Rust, &long, Duration::ZERO), None);
}

/// The aim of an outline: a tenth of what reading the file costs.
#[test]
fn an_outline_costs_a_tenth_of_its_file() {
    let tokens = tiktoken_rs::o200k_base().unwrap();
    let count = |text: &str| tokens.encode_ordinary(text).len();
    let (mut whole, mut outlined) = (0, 0);
    for text in [
        include_str!("../../files.rs"),
        include_str!("../../git/file_history.rs"),
        include_str!("../grammar.rs"),
    ] {
        whole += count(text);
        outlined += count(&parse(SourceLanguage::Rust, text, TIME_LIMIT).unwrap().print());
    }
    assert!(outlined * 10 <= whole, "{outlined} of {whole} tokens");
}
