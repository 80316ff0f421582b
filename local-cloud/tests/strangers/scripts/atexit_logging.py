# Logs to both streams and as JSON lines, with handlers in a config dict; atexit has the last word.
# exit: 0
# log: to stderr
# log: {"level": "INFO", "msg": "as json"}
# log: good bye
import atexit
import json
import logging
import logging.config
import sys


class JsonFormatter(logging.Formatter):
    def format(self, record):
        return json.dumps({"level": record.levelname, "msg": record.getMessage()})


logging.config.dictConfig({
    "version": 1,
    "disable_existing_loggers": True,
    "formatters": {"json": {"()": JsonFormatter}},
    "handlers": {
        "json": {"class": "logging.StreamHandler", "stream": "ext://sys.stdout", "formatter": "json"},
        "err": {"class": "logging.StreamHandler", "stream": "ext://sys.stderr"},
        "file": {"class": "logging.handlers.RotatingFileHandler", "filename": "train.log", "maxBytes": 1000},
    },
    "loggers": {"json": {"handlers": ["json"], "level": "INFO"}},
    "root": {"handlers": ["err", "file"], "level": "INFO"},
})
atexit.register(print, "good bye")
logging.getLogger("json").info("as json")
logging.getLogger("other").warning("to stderr")
sys.stdout.reconfigure(line_buffering=True)
