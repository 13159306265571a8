/** Characters of a model's name: rows, pages of logs and metrics have many of them. Names of cloud resources have up to 2,048. */
export const longestModel = 2048;
