import type { Json } from './text.js';

/** What the real API refuses and a gateway might get wrong. */

const members = new Set([
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'safetySettings',
  'generationConfig',
  'cachedContent',
  'labels',
  'serviceTier',
  'store',
]);

const settings = new Set([
  'temperature',
  'topP',
  'topK',
  'seed',
  'candidateCount',
  'maxOutputTokens',
  'stopSequences',
  'presencePenalty',
  'frequencyPenalty',
  'responseLogprobs',
  'logprobs',
  'responseMimeType',
  'responseSchema',
  'responseJsonSchema',
  'responseModalities',
  'thinkingConfig',
  'speechConfig',
  'imageConfig',
  'mediaResolution',
]);

const partKinds = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
];

/** Why a generateContent request is refused, in Google's words; null: it is not. */
export function checkGenerate(body: Json, model: string): string | null {
  for (const name in body) if (!members.has(name)) return unknownName(name);
  const contents = body['contents'];
  if (!Array.isArray(contents) || contents.length === 0)
    return '* GenerateContentRequest.contents: contents is not specified\n';
  let calls = 0;
  for (const [i, value] of (contents as Json[]).entries()) {
    const { role, parts } = value;
    if (role !== undefined && role !== 'user' && role !== 'model')
      return 'Please use a valid role: user, model.';
    if (!Array.isArray(parts) || parts.length === 0)
      return `* GenerateContentRequest.contents[${i}].parts: contents.parts must not be empty.\n`;
    for (const part of parts as Json[]) {
      if (!partKinds.some((kind) => kind in part))
        return `* GenerateContentRequest.contents[${i}].parts[0].data: required oneof field 'data' must have one initialized field\n`;
    }
    const results = parts.filter((part: Json) => part['functionResponse'] !== undefined).length;
    if (results !== (role === 'model' ? 0 : calls)) {
      return 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';
    }
    calls = parts.filter((part: Json) => part['functionCall'] !== undefined).length;
  }
  return checkSignatures(contents as Json[], model) ?? checkSettings(body, model);
}

const unknownName = (name: string, at = ''): string =>
  `Invalid JSON payload received. Unknown name "${name}"${at}: Cannot find field.`;

/** Since 3 the first call of each answer in the turn under way has to be signed. */
function checkSignatures(contents: readonly Json[], model: string): string | null {
  if (!/gemini-3/.test(model)) return null;
  let turn = 0;
  contents.forEach((content, i) => {
    if (
      content['role'] !== 'model' &&
      (content['parts'] as Json[]).some((part) => part['text'] !== undefined)
    )
      turn = i;
  });
  for (const [i, content] of contents.entries()) {
    const first = (content['parts'] as Json[]).find((part) => part['functionCall'] !== undefined);
    if (i > turn && first !== undefined && typeof first['thoughtSignature'] !== 'string') {
      return 'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.';
    }
  }
  return null;
}

function checkSettings(body: Json, model: string): string | null {
  const config = (body['generationConfig'] ?? {}) as Json;
  for (const name in config) if (!settings.has(name)) return unknownName(name, " at 'generation_config'");
  const stop = config['stopSequences'];
  if (stop !== undefined && (!Array.isArray(stop) || stop.length > 5))
    return "Invalid value at 'generation_config.stop_sequences'";
  const thinking = config['thinkingConfig'] as Json | undefined;
  if (thinking?.['thinkingLevel'] !== undefined) {
    if (thinking['thinkingBudget'] !== undefined)
      return 'You can only set only one of thinking budget and thinking level.';
    if (/gemini-2/.test(model)) return 'Thinking level is not supported for this model.';
  }
  const schema = config['responseSchema'] ?? config['responseJsonSchema'];
  if (schema !== undefined && config['responseMimeType'] !== 'application/json')
    return '* GenerateContentRequest.generation_config.response_mime_type: response_schema requires application/json\n';
  for (const tool of (body['tools'] ?? []) as Json[]) {
    for (const fn of (tool['functionDeclarations'] ?? []) as Json[]) {
      if (JSON.stringify(fn['parameters'] ?? {}).includes('"additionalProperties"'))
        return unknownName('additionalProperties', " at 'tools[0].function_declarations[0].parameters'");
    }
  }
  return null;
}
