//! Asks the model servers of this machine which models they have.

use std::time::Duration;

use serde_json::Value;

use crate::store::ProbedServer;
use crate::sys::environment::variable;
use crate::sys::http;

/// How long a server may take to answer. It is on this machine.
const LIMIT: Duration = Duration::from_secs(2);
/// The most models of one server, and the longest name of one, that are believed.
const MOST_MODELS: usize = 200;
const LONGEST_NAME: usize = 200;

/// How a server lists its models.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ListFormat {
    /// `{"models": [{"name"}]}`.
    Ollama,
    /// `{"data": [{"id"}]}`.
    OpenAi,
}

impl ListFormat {
    fn path(self) -> &'static str {
        match self {
            Self::Ollama => "/api/tags",
            Self::OpenAi => "/v1/models",
        }
    }

    fn models(self, body: &Value) -> Option<Vec<String>> {
        let (list, key) = match self {
            Self::Ollama => ("models", "name"),
            Self::OpenAi => ("data", "id"),
        };
        let models = body.get(list)?.as_array()?.iter();
        let names = models.filter_map(|model| model.get(key)?.as_str());
        let is_name = |name: &&str| !name.is_empty() && name.len() <= LONGEST_NAME;
        Some(names.filter(is_name).take(MOST_MODELS).map(str::to_string).collect())
    }
}

/// A server that may be running.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ServerAddress {
    name: &'static str,
    url: String,
    format: ListFormat,
}

/// Where servers are by default; Ollama's may be told by `OLLAMA_HOST`.
pub(super) fn usual_servers() -> Vec<ServerAddress> {
    let ollama = ollama_url(variable("OLLAMA_HOST").as_deref());
    let ollama = ollama.map(|url| ServerAddress { name: "ollama", url, format: ListFormat::Ollama });
    let others = [("lmstudio", 1234), ("llama.cpp", 8080)].map(|(name, port)| ServerAddress {
        name,
        url: format!("http://127.0.0.1:{port}"),
        format: ListFormat::OpenAi,
    });
    ollama.into_iter().chain(others).collect()
}

impl ServerAddress {
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Its models; `None` if nobody answers, or somebody else does.
    pub(super) fn ask(&self) -> Option<ProbedServer> {
        let body = http::get(&format!("{}{}", self.url, self.format.path()), LIMIT).ok()?;
        let models = self.format.models(&serde_json::from_str(&body).ok()?)?;
        Some(ProbedServer { name: self.name.to_string(), url: self.url.clone(), models })
    }
}

/// The address that `OLLAMA_HOST` means to a client, as Ollama itself reads it; `None` if it needs TLS.
fn ollama_url(host: Option<&str>) -> Option<String> {
    const PORT: &str = "11434";
    let host = host.map_or("", str::trim).trim_matches(['"', '\'']);
    let (default_port, rest) = match host.split_once("://") {
        Some(("http", rest)) => ("80", rest),
        Some(_) => return None,
        None => (PORT, host),
    };
    let place = rest.split('/').next().unwrap_or_default();
    // The port follows the last colon, unless that is a part of an address such as `[::1]`.
    let (name, port) = match place.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') && (!name.contains(':') || name.ends_with(']')) => {
            (name, port)
        }
        _ => (place, ""),
    };
    // An address to listen on is not one to connect to.
    let name = match name {
        "" | "0.0.0.0" => "127.0.0.1",
        "[::]" | "::" => "[::1]",
        name => name,
    };
    let is_number = port.parse::<u16>().is_ok_and(|port| port > 0);
    let port = if is_number { port } else { default_port };
    Some(format!("http://{name}:{port}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_address_of_ollama() {
        for (host, url) in [
            (None, Some("http://127.0.0.1:11434")),
            (Some(""), Some("http://127.0.0.1:11434")),
            (Some("0.0.0.0"), Some("http://127.0.0.1:11434")),
            (Some("0.0.0.0:5000"), Some("http://127.0.0.1:5000")),
            (Some(":5000"), Some("http://127.0.0.1:5000")),
            (Some("box"), Some("http://box:11434")),
            (Some("http://box"), Some("http://box:80")),
            (Some("http://box:1/x/"), Some("http://box:1")),
            (Some("[::1]:5"), Some("http://[::1]:5")),
            (Some("[::]"), Some("http://[::1]:11434")),
            (Some("box:99999"), Some("http://box:11434")),
            (Some("https://box"), None),
        ] {
            assert_eq!(ollama_url(host).as_deref(), url, "{host:?}");
        }
    }

    /// A server that answers every request with this.
    fn serving(status: u16, body: Vec<u8>) -> (Arc<tiny_http::Server>, String) {
        let server = Arc::new(tiny_http::Server::http("127.0.0.1:0").unwrap());
        let url = format!("http://{}", server.server_addr().to_ip().unwrap());
        let answering = Arc::clone(&server);
        std::thread::spawn(move || {
            for request in answering.incoming_requests() {
                let mut answer = tiny_http::Response::from_data(body.clone()).with_status_code(status);
                if (300..400).contains(&status) {
                    let elsewhere = tiny_http::Header::from_bytes("Location", "http://127.0.0.1:9/").unwrap();
                    answer.add_header(elsewhere);
                }
                // The other side may have hung up.
                drop(request.respond(answer));
            }
        });
        (server, url)
    }

    fn models(status: u16, body: impl Into<Vec<u8>>, format: ListFormat) -> Option<Vec<String>> {
        let (server, url) = serving(status, body.into());
        let answer = ServerAddress { name: "test", url, format }.ask();
        server.unblock();
        answer.map(|server| server.models)
    }

    #[test]
    fn servers_tell_their_models() {
        let ollama = r#"{"models": [{"name": "llama3:8b", "size": 1}, {"name": ""}, {"name": 5}, {"name": "mistral"}]}"#;
        assert_eq!(models(200, ollama, ListFormat::Ollama), Some(vec!["llama3:8b".into(), "mistral".into()]));
        let other = r#"{"object": "list", "data": [{"id": "gpt-oss-20b"}]}"#;
        assert_eq!(models(200, other, ListFormat::OpenAi), Some(vec!["gpt-oss-20b".into()]));
        assert_eq!(models(200, r#"{"data": []}"#, ListFormat::OpenAi), Some(Vec::new()));
    }

    #[test]
    fn who_is_not_such_a_server_is_ignored() {
        for body in ["<html>hello</html>", "{}", "[]", "", r#"{"data": {"id": "x"}}"#] {
            assert_eq!(models(200, body, ListFormat::OpenAi), None, "{body}");
        }
        assert_eq!(models(404, r#"{"data": []}"#, ListFormat::OpenAi), None);
        assert_eq!(models(302, r#"{"data": []}"#, ListFormat::OpenAi), None);
        // More than is read, though it begins like an answer.
        let long = format!(r#"{{"data": [{{"id": "{}"}}]}}"#, "x".repeat(2 << 20));
        assert_eq!(models(200, long, ListFormat::OpenAi), None);
        let many: Vec<String> = (0..1_000).map(|number| format!(r#"{{"id": "m{number}"}}"#)).collect();
        let many = format!(r#"{{"data": [{}]}}"#, many.join(","));
        assert_eq!(models(200, many, ListFormat::OpenAi).map(|models| models.len()), Some(MOST_MODELS));
        // Nobody listens.
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let server =
            ServerAddress { name: "test", url: format!("http://{closed}"), format: ListFormat::OpenAi };
        assert_eq!(server.ask(), None);
    }

    /// One that accepts connections and says nothing costs the time limit, and no more.
    #[test]
    fn one_that_says_nothing_is_given_up() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let server = ServerAddress { name: "test", url, format: ListFormat::Ollama };
        assert_eq!(server.ask(), None);
    }
}
