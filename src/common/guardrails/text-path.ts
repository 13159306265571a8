/** Where texts are in a body: `messages[*].content`. */
export const textPath = /^[A-Za-z_][\w-]*(\[(\d{1,6}|\*)\]|\.[A-Za-z_][\w-]*)*$/;

/** Characters. */
export const maxPathLength = 256;
