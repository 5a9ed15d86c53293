/** What the scripts of the fleet's and a deployment's page say. Both languages have the same shape. */

const en = {
  ago: {
    now: "now",
    seconds: (n: number) => `${n} s`,
    minutes: (n: number) => `${n} min`,
    hours: (n: number) => `${n} h`,
    days: (n: number) => `${n} d`,
  },
};

const zh: typeof en = {
  ago: {
    now: "刚刚",
    seconds: (n) => `${n} 秒`,
    minutes: (n) => `${n} 分`,
    hours: (n) => `${n} 小时`,
    days: (n) => `${n} 天`,
  },
};

export const t = typeof document !== "undefined" && document.documentElement.lang.startsWith("zh") ? zh : en;
