//! The request handlers that the SDK calls.

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam, CustomRequest,
    CustomResult, ErrorCode, Implementation, InitializeRequestParams, InitializeResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use tokio::sync::oneshot;

use crate::ops::{CommandError, CommandErrorKind};

use super::channel::{self, ChannelNotifier};
use super::complain;
use super::handover_signal::PendingHandovers;
use super::op_thread::{OpThreadHandle, Reply};
use super::resources::ResourceTopic;
use super::subscriptions::Subscriptions;
use super::tool_answer::ToolAnswer;
use super::tools::{self, LongCall, ToolCall};

/// Interval of progress notifications while a call waits.
const PROGRESS: Duration = Duration::from_secs(5);

/// Server instructions, for models that see only the names of the tools.
const ABOUT: &str =
    "Coding agents at work on this machine: find them, talk, keep out of each other's files, share tasks.";

/// Methods that we implement: a malformed request for one of them is not reported as an unknown method.
const METHODS: [&str; 4] = ["tools/call", "tools/list", "resources/read", "resources/list"];

pub(super) struct McpServer {
    op_thread: OpThreadHandle,
    tickets: PendingHandovers,
    subscriptions: Subscriptions,
    line: ChannelNotifier,
}

impl McpServer {
    pub(super) fn new(op_thread: OpThreadHandle, tickets: PendingHandovers, line: ChannelNotifier) -> Self {
        let subscriptions = Subscriptions::new(op_thread.clone());
        Self { op_thread, tickets, subscriptions, line }
    }

    async fn call(&self, call: ToolCall, context: &RequestContext<RoleServer>) -> ToolAnswer {
        let sessions = tools::sessions(&context.meta);
        match call.long_call() {
            Ok(None) => {
                self.finish(self.op_thread.run(sessions, |op, outlet| call.run(op, outlet)), context).await
            }
            Ok(Some(call)) => self.run_long(call, context).await,
            Err(error) => error.into(),
        }
    }

    /// Runs a call that may take long. Sends progress notifications to a client that asked for them, and stops a wait
    /// when the call is cancelled.
    async fn run_long(&self, call: LongCall, context: &RequestContext<RoleServer>) -> ToolAnswer {
        let (most, doing) = (call.most(), call.doing());
        let sessions = tools::sessions(&context.meta);
        let begun = self.op_thread.run_beside(sessions, |op, outlet, stop| call.run(op, outlet, stop));
        let (reply, asker) = match begun {
            Ok(begun) => begun,
            Err(error) => return error.into(),
        };
        let mut finished = std::pin::pin!(self.finish(reply, context));
        let start = tokio::time::Instant::now();
        let mut ticks = tokio::time::interval(PROGRESS);
        loop {
            tokio::select! {
                answer = &mut finished => return answer,
                () = context.ct.cancelled() => {
                    asker.trigger();
                    return finished.await;
                }
                _ = ticks.tick() => progress(context, start.elapsed(), most, doing).await,
            }
        }
    }

    /// Waits for the op's reply. Keeps the ticket for the transport unless the call was cancelled.
    async fn finish(
        &self,
        reply: oneshot::Receiver<Reply>,
        context: &RequestContext<RoleServer>,
    ) -> ToolAnswer {
        let Ok(Reply { answer, ticket }) = reply.await else { return closed() };
        if let Some(ticket) = ticket.filter(|_| !context.ct.is_cancelled()) {
            self.tickets.keep(context.id.clone(), ticket);
        }
        answer
    }
}

async fn progress(context: &RequestContext<RoleServer>, elapsed: Duration, most: Duration, doing: &str) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let progress = ProgressNotificationParam::new(token, elapsed.as_secs_f64())
        .with_total(most.as_secs_f64())
        .with_message(doing);
    // An error means that the client is gone.
    drop(context.peer.notify_progress(progress).await);
}

fn closed() -> ToolAnswer {
    CommandError::new(CommandErrorKind::Interrupted, "interrupted; nothing was taken").into()
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .build();
        ServerConfig::new(capabilities)
            .with_instructions(ABOUT)
            .with_server_info(Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")))
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        if let Some(capability) = channel::capability(&request.client_info.name) {
            result.capabilities.experimental = Some(capability);
        }
        Ok(result)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.line.open(context.peer);
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer = match ToolCall::parse(&request.name, request.arguments.unwrap_or_default()) {
            None => {
                let text = format!("there is no tool `{}`", request.name.escape_debug());
                return Err(ErrorData::invalid_params(text, None));
            }
            Some(Err(error)) => error.into(),
            Some(Ok(call)) => self.call(call, &context).await,
        };
        Ok(CallToolResponse::from(CallToolResult::from(answer)))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(ResourceTopic::ALL.map(ResourceTopic::describe).to_vec()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let topic = topic(&request.uri)?;
        let reply = self.op_thread.run(tools::sessions(&context.meta), move |op, _| topic.read(op));
        let answer = reply.await.map_or_else(|_| closed(), |reply| reply.answer);
        // A resource has no place for them.
        answer.notes().iter().for_each(|text| complain(text));
        match answer.complaint() {
            None => Ok(ReadResourceResult::new(vec![topic.contents(&answer)]).into()),
            Some(text) => Err(ErrorData::internal_error(text, Some(answer.structured()))),
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let topic = topic(&request.uri)?;
        self.subscriptions.add(topic, &context).map_err(refused)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove(topic(&request.uri)?);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let uris = requested.resource_subscriptions.clone().unwrap_or_default();
        let known = uris.into_iter().filter(|uri| ResourceTopic::parse(uri).is_some());
        let mut accepted = SubscriptionFilter::new();
        accepted.resource_subscriptions = Some(known.collect());
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.subscriptions.listen(&context).await.map_err(refused)
    }

    async fn on_cancelled(&self, cancelled: CancelledNotificationParam, _: NotificationContext<RoleServer>) {
        // The SDK drops the answer, so dropping the ticket puts the mail back.
        if let Some(id) = cancelled.request_id {
            drop(self.tickets.take(&id));
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method: String = request.method.chars().take(100).collect();
        Err(match METHODS.contains(&method.as_str()) {
            true => ErrorData::invalid_params(format!("`{method}` takes other parameters than these"), None),
            false => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no `{method}`"), None),
        })
    }
}

fn refused(error: CommandError) -> ErrorData {
    ErrorData::internal_error(error.message.clone(), Some(crate::faces::json::error(&error)))
}

fn topic(uri: &str) -> Result<ResourceTopic, ErrorData> {
    let unknown = || ErrorData::resource_not_found(format!("there is no `{}`", uri.escape_debug()), None);
    ResourceTopic::parse(uri).ok_or_else(unknown)
}
