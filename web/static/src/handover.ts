/**
 * Hands a dropped file from the page of two traces to the viewer in another tab: a file has no address, but tabs of
 * one server can send it to each other for as long as the page that has it stays open.
 */

const channelName = "stepscope-files";

type Message = { want: string } | { key: string; file: File };

/** Offers files under keys; returns a function that gives a file its key. */
export function offerFiles(): (file: File) => string {
  const files = new Map<string, File>();
  const channel = new BroadcastChannel(channelName);
  channel.onmessage = (event: MessageEvent<Message>) => {
    const message = event.data;
    if (!("want" in message)) return;
    const file = files.get(message.want);
    if (file !== undefined) channel.postMessage({ key: message.want, file } satisfies Message);
  };
  return (file) => {
    for (const [key, have] of files) if (have === file) return key;
    const key = crypto.randomUUID();
    files.set(key, file);
    return key;
  };
}

/** Asks other tabs for a file; null when none has it. */
export function takeFile(key: string, ms = 3000): Promise<File | null> {
  return new Promise((resolve) => {
    const channel = new BroadcastChannel(channelName);
    const end = (file: File | null) => {
      clearTimeout(timer);
      channel.close();
      resolve(file);
    };
    const timer = setTimeout(() => end(null), ms);
    channel.onmessage = (event: MessageEvent<Message>) => {
      const message = event.data;
      if ("file" in message && message.key === key) end(message.file);
    };
    channel.postMessage({ want: key } satisfies Message);
  });
}
