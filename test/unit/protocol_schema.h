/*
 * protocol_schema.h: what each provider's reference says of the body of a request: every member
 * that may be sent, with its types; '!' marks those that must be there whenever the object
 * around them is.  Types: s string, n number, b boolean, o object, a array, j any JSON (not
 * looked into).
 */
#ifndef PROTOCOL_SCHEMA_H
#define PROTOCOL_SCHEMA_H

/* Anthropic: POST /v1/messages. */
static const char *const anthropic_schema[] = {
	"model s!", "max_tokens n!", "temperature n", "system s", "messages a!", "messages[] o",
	"messages[].role s!", "messages[].content sa!", "messages[].content[] o",
	"messages[].content[].type s!", "messages[].content[].id s", "messages[].content[].name s",
	"messages[].content[].input j", "messages[].content[].tool_use_id s",
	"messages[].content[].is_error b", "messages[].content[].content s", "tools a", "tools[] o",
	"tools[].name s!", "tools[].description s", "tools[].input_schema j!", "tool_choice o",
	"tool_choice.type s!", "tool_choice.name s", "tool_choice.disable_parallel_tool_use b",
	"output_config o", "output_config.effort s", "output_config.format o",
	"output_config.format.type s!", "output_config.format.schema j!", NULL};

/* Bedrock: Converse. */
static const char *const bedrock_schema[] = {
	"system a", "system[] o", "system[].text s", "messages a!", "messages[] o",
	"messages[].role s!", "messages[].content a!", "messages[].content[] o",
	"messages[].content[].text s", "messages[].content[].toolUse o",
	"messages[].content[].toolUse.toolUseId s!", "messages[].content[].toolUse.name s!",
	"messages[].content[].toolUse.input j!", "messages[].content[].toolResult o",
	"messages[].content[].toolResult.toolUseId s!", "messages[].content[].toolResult.content a!",
	"messages[].content[].toolResult.content[] o",
	"messages[].content[].toolResult.content[].text s",
	"messages[].content[].toolResult.status s", "inferenceConfig o",
	"inferenceConfig.maxTokens n", "inferenceConfig.temperature n", "toolConfig o",
	"toolConfig.tools a!", "toolConfig.tools[] o", "toolConfig.tools[].toolSpec o",
	"toolConfig.tools[].toolSpec.name s!", "toolConfig.tools[].toolSpec.description s",
	"toolConfig.tools[].toolSpec.inputSchema o!",
	"toolConfig.tools[].toolSpec.inputSchema.json j", "toolConfig.toolChoice o",
	"toolConfig.toolChoice.tool o", "toolConfig.toolChoice.tool.name s!",
	"toolConfig.toolChoice.any o", "toolConfig.toolChoice.auto o",
	"additionalModelRequestFields j", NULL};

/* Chat completions: what OpenAI, Azure, vLLM, Ollama, llama.cpp and Mistral have in common. */
static const char *const openai_schema[] = {
	"model s!", "messages a!", "messages[] o", "messages[].role s!", "messages[].content s!",
	"max_tokens n", "max_completion_tokens n", "temperature n", "response_format o",
	"response_format.type s!", "response_format.json_schema o",
	"response_format.json_schema.name s!", "response_format.json_schema.strict b",
	"response_format.json_schema.schema j", NULL};

#endif
