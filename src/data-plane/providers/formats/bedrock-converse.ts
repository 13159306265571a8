import type { ChatFormat } from '../provider.js';
import { eventStream } from '../streams/framing.js';
import { bedrockError, bedrockUsage, fromConverse } from './bedrock-reply.js';
import { toConverseRequest } from './bedrock-request.js';
import { BedrockStream } from './bedrock-stream.js';

/**
 * Converse and ConverseStream of Amazon Bedrock (docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html;
 * field by field after the documented input of @aws-sdk/client-bedrock-runtime). Model and streaming are given by the
 * path. The request is in bedrock-request, -content, -media, -tools and -model-fields, the answer in bedrock-reply and
 * -stream.
 */
export const bedrockConverse: ChatFormat = {
  name: 'bedrock-converse',
  framing: eventStream,
  toWire: toConverseRequest,
  fromWire: fromConverse,
  errorFromWire: bedrockError,
  usage: bedrockUsage,
  stream: (context) => new BedrockStream(context),
};
