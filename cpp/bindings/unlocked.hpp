// Python's lock is released while the core works. The core checks for signals from time to time. A thread whose
// interpreter ends meanwhile waits for the end of the process.
#pragma once

#include <chrono>
#include <thread>

#include <nanobind/nanobind.h>

#include "core/interruption.hpp"

namespace wald::bindings {

namespace nb = nanobind;

// Once the interpreter ends, Python before 3.14 ends every other thread that wants its lock: it unwinds the thread's
// stack, and aborts the process at the first noexcept function, such as a destructor. An object of this class stops the
// unwinding at its frame: the thread waits for the end of the process, as it does from Python 3.14 on. The data that it
// worked on stays alive and unchanged.
struct WaitsForTheEnd {
    bool over = false;
    WaitsForTheEnd() = default;
    ~WaitsForTheEnd() {
        while (!over) std::this_thread::sleep_for(std::chrono::hours(1));
    }
    WaitsForTheEnd(const WaitsForTheEnd&) = delete;
    WaitsForTheEnd& operator=(const WaitsForTheEnd&) = delete;
};

// Takes Python's lock again. Never in line: callers may be noexcept.
[[gnu::noinline]] inline void lock_again(PyThreadState* state) {
    WaitsForTheEnd here;
    PyEval_RestoreThread(state);
    here.over = true;
}

// Whether Python handles signals in this thread, which must hold the lock.
[[gnu::noinline]] inline bool handles_signals() {
    static thread_local int checked_after = -1;  // number of forks at the last check: a fork changes the main thread
    static thread_local bool handles = false;
    if (checked_after == forks()) return handles;
    WaitsForTheEnd here;  // this runs code of Python's, in which the lock may change hands
    PyObject* threading = PyImport_ImportModule("threading");
    PyObject* main = threading ? PyObject_CallMethod(threading, "main_thread", nullptr) : nullptr;
    PyObject* number = main ? PyObject_GetAttrString(main, "ident") : nullptr;
    if (number != nullptr) {
        handles = PyLong_Check(number) && PyLong_AsUnsignedLong(number) == PyThread_get_thread_ident();
        checked_after = forks();
    }
    Py_XDECREF(number);
    Py_XDECREF(main);
    Py_XDECREF(threading);
    // An interpreter that has forgotten these modules at its end raises; so may the handler of a signal that came just
    // before, and a Ctrl-C must not be lost: it is raised again, and served in the next call that checks for signals,
    // or when the core is done.
    const bool interrupted = PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
    PyErr_Clear();
    if (interrupted) PyErr_SetInterrupt();
    here.over = true;
    return handles;
}

// While this lives, the thread does without Python's lock.
class Unlocked {
public:
    Unlocked() : outer_(interruption()) {
        Interruption& here = interruption();
        here = {};
        here.failed = outer_.failed;
        if (handles_signals()) {
            here.go_on = &Unlocked::go_on;
            here.caller = this;
            here.next = std::chrono::steady_clock::now() + kCheckAfter;
        }
        state_ = PyEval_SaveThread();
    }
    ~Unlocked() {
        lock_again(state_);
        interruption() = outer_;
    }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

private:
    // Runs Python's signal handlers. If one of them raises, its exception stays set for whoever called the core.
    static bool go_on(void* self) {
        auto& here = *static_cast<Unlocked*>(self);
        lock_again(here.state_);
        const bool wanted = PyErr_CheckSignals() == 0;
        here.state_ = PyEval_SaveThread();
        return wanted;
    }

    PyThreadState* state_;
    const Interruption outer_;
};

// If a signal handler raised, its exception is already set when the core has been left.
inline void pass_interruptions_on() {
    nb::register_exception_translator([](const std::exception_ptr& error, void*) {
        try {
            std::rethrow_exception(error);
        } catch (const Interrupted&) {
            if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_KeyboardInterrupt, "the call was interrupted");
        }
    });
}

}  // namespace wald::bindings
