import {
  type Server,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import protobuf from 'protobufjs';

// The messages of grpc/health/v1/health.proto. Written down here: to read that file takes a start a tenth of its time.
const { Field, MapField, Root, Type } = protobuf;
const messages = new Root();
const Request = new Type('Request').add(new Field('service', 1, 'string'));
const Response = new Type('Response').add(new Field('status', 1, 'int32'));
const List = new Type('List').add(new MapField('statuses', 1, 'string', 'Response'));
messages.add(Request).add(Response).add(List).resolveAll();

const serving = 1;
const serviceUnknown = 3;
/** A list of more is refused, as the definition of the service has it. */
const mostListed = 100;

interface Asked {
  readonly service: string;
}

const method = (name: string, answer: protobuf.Type, responseStream = false) => ({
  path: `/grpc.health.v1.Health/${name}`,
  requestStream: false,
  responseStream,
  requestSerialize: (request: object) => Buffer.from(Request.encode(request).finish()),
  requestDeserialize: (bytes: Buffer) => Request.decode(bytes) as unknown as Asked,
  responseSerialize: (response: object) => Buffer.from(answer.encode(response).finish()),
  responseDeserialize: (bytes: Buffer) => answer.decode(bytes),
});

const definition: ServiceDefinition = {
  Check: method('Check', Response),
  Watch: method('Watch', Response, true),
  List: method('List', List),
};

/** Adds the standard service that load balancers ask. These services are served for as long as the server is. */
export function addHealth(server: Server, services: readonly string[]): void {
  const known = new Set(services);
  server.addService(definition, {
    Check({ request: { service } }: ServerUnaryCall<Asked, object>, done: sendUnaryData<object>) {
      if (known.has(service)) done(null, { status: serving });
      else done({ code: status.NOT_FOUND, details: `Health status unknown for service ${service}` });
    },
    // Stays open: a client that watches asks again when it ends.
    Watch(call: ServerWritableStream<Asked, object>) {
      call.write({ status: known.has(call.request.service) ? serving : serviceUnknown });
    },
    List(_call: ServerUnaryCall<object, object>, done: sendUnaryData<object>) {
      if (known.size > mostListed)
        done({ code: status.RESOURCE_EXHAUSTED, details: 'Too many services to list.' });
      else
        done(null, {
          statuses: Object.fromEntries([...known].map((name) => [name, { status: serving }])),
        });
    },
  });
}
